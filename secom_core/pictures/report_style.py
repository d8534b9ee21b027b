"""How a report looks: light and dark, on a screen and on paper."""

from __future__ import annotations

from typing import Final

from .segmentation import COLOURS

__all__ = ["STYLE"]

_SEGMENTS: Final = "\n".join(
    f".c{place} {{ background: {colour} }}\n.s{place} {{ border-left-color: {colour} }}"
    for place, colour in enumerate(COLOURS)
)

STYLE: Final = f"""
:root {{ color-scheme: light dark; --ink: #1c1c1c; --soft: #5c5c5c; --page: #fff; --card: #f6f6f4; --edge: #d8d8d4;
  --accent: #0b62a4; --mark: #fff3cd; font: 15px/1.5 system-ui, sans-serif; color: var(--ink);
  background: var(--page) }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ink: #e8e8e6; --soft: #a9a9a5; --page: #161718; --card: #202224; --edge: #3a3d40; --accent: #7db8e8;
    --mark: #4a3f14 }}
}}
* {{ box-sizing: border-box }}
body {{ margin: 0 auto; max-width: 62rem; padding: 1.5rem 1rem 6rem; overflow-wrap: anywhere }}
h1 {{ font-size: 1.5rem; margin: 0 }}
h2 {{ font-size: 1.2rem; margin: 2.5rem 0 .75rem; padding-bottom: .25rem; border-bottom: 1px solid var(--edge) }}
h3 {{ font-size: 1rem; margin: 1.25rem 0 .5rem }}
h4 {{ font-size: .95rem; margin: 1rem 0 0 }}
header p, .note, figcaption, small, time, dt {{ color: var(--soft) }}
header p {{ margin: .25rem 0 0; max-width: 46rem }}
small {{ font-size: .85em; font-weight: normal }}
a {{ color: var(--accent) }}
nav {{ position: sticky; top: 0; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; padding: .6rem 0;
  margin: 1rem 0; background: var(--page); border-bottom: 1px solid var(--edge); z-index: 1 }}
nav a {{ text-decoration: none }}
.all {{ display: inline-block; margin-bottom: 1rem; color: var(--soft) }}
dl {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)); gap: .5rem; margin: 0 0 1rem }}
dl div {{ background: var(--card); border-radius: 6px; padding: .5rem .75rem; display: flex;
  flex-direction: column-reverse; justify-content: flex-end }}
dt {{ font-size: .85rem }}
dd {{ margin: 0; font-size: 1.2rem; font-variant-numeric: tabular-nums }}
figure {{ margin: 0 0 1rem }}
figcaption {{ font-size: .85rem; margin-top: .25rem }}
.wide {{ overflow-x: auto }}
.paper {{ background: #fff; color: #1c1c1c; border: 1px solid var(--edge); border-radius: 6px; padding: .5rem;
  width: max-content; min-width: 100%; max-width: 96vw; position: relative; left: 50%; transform: translateX(-50%) }}
.paper figcaption {{ color: #5c5c5c; position: sticky; left: 0 }}
svg {{ display: block; max-width: none }}
svg .ink {{ fill: var(--soft) }}
svg .bar {{ fill: var(--accent) }}
svg .dot {{ fill: var(--soft); fill-opacity: .45 }}
svg .line {{ stroke: var(--accent); stroke-width: 2 }}
svg .rule {{ stroke: var(--edge) }}
svg .mark {{ stroke: #d5730a; stroke-width: 2 }}
details {{ border: 1px solid var(--edge); border-radius: 6px; margin: .5rem 0; padding: 0 .75rem }}
section:not(#sessions) details {{ border-width: 0 0 1px; border-radius: 0; padding: 0; margin: 0 }}
summary {{ cursor: pointer; padding: .5rem 0 }}
summary small, summary time {{ margin-left: .5rem; white-space: nowrap }}
.lines {{ white-space: pre-line }}
.strip {{ display: block; overflow-x: auto; margin-top: .4rem }}
.segment {{ border-left: 4px solid; margin: .75rem 0; padding-left: .75rem; position: relative }}
.chip {{ display: inline-block; min-width: 1.4rem; text-align: center; border-radius: 4px; color: #1c1c1c;
  font-size: .8rem; font-weight: bold }}
ol, ul {{ margin: .25rem 0 .5rem; padding-left: 1.4rem }}
.segment ol, .rests {{ list-style: none; padding-left: 0 }}
.segment li {{ padding: .3rem .4rem; margin: 0 -.4rem; border-radius: 4px; scroll-margin-top: 4rem }}
.segment li:target {{ background: var(--mark) }}
.segment time {{ font-size: .8rem; float: right; margin-left: 1rem }}
.segment li {{ display: flow-root }}
.said {{ white-space: pre-wrap; unicode-bidi: isolate }}
.said b {{ margin-right: .6rem }}
.reply {{ padding-left: 1.2rem; color: var(--soft) }}
.rests {{ font-size: .9rem; margin-bottom: .75rem }}
table {{ border-collapse: collapse; margin: .25rem 0 .75rem }}
td, th {{ text-align: left; padding: .2rem .9rem .2rem 0; border-bottom: 1px solid var(--edge); vertical-align: top }}
th {{ font-weight: normal; color: var(--soft); font-size: .85rem }}
.number {{ text-align: right; font-variant-numeric: tabular-nums }}
body:has(.all input:checked) details::details-content {{ content-visibility: visible; block-size: auto; opacity: 1 }}
{_SEGMENTS}
@media print {{
  nav, .all {{ display: none }}
  body {{ max-width: none; padding: 0; font-size: 10pt }}
  details {{ border: 0; padding: 0 }}
  details::details-content {{ content-visibility: visible; block-size: auto }}
  .wide, .strip {{ overflow: visible }}
  .paper {{ width: auto; max-width: none; left: 0; transform: none }}
  svg {{ max-width: 100%; height: auto }}
  .chip, .segment, .paper {{ print-color-adjust: exact }}
  li, tr, figure {{ break-inside: avoid }}
  h2, h3, summary {{ break-after: avoid }}
  a {{ color: inherit; text-decoration: none }}
}}
"""
