"""An ingestion pipeline that cuts conversations into segments, one node each. Needs the extra "llamaindex"."""

import json
from pathlib import Path

from llama_index.core import Document, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor import MetadataReplacementPostProcessor

from llamaindex_secom import CITE_QA_TEMPLATE, CitationNumberer, LLMLinguaDenoiser, SegmentNodeParser
from llamaindex_secom.denoiser import ORIGINAL_TEXT
from secom_core import MemoryBank
from secom_core.denoisers.informativeness import Informativeness
from secom_core.testing import ScriptedEmbedder


class Words(BaseEmbedding):
    """Stands for your embedding model: texts that share words are near."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return ScriptedEmbedder(2048).embed([text])[0].tolist()

    _get_query_embedding = _get_text_embedding

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


rows = [*map(json.loads, (Path(__file__).parent / "data" / "mara.jsonl").read_text("utf-8").splitlines())]
# A document a message: neighbours of one session are cut into segments, so hand over whole sessions.
documents = [
    Document(id_=row["id"], text=row["content"], metadata={key: row[key] for key in ("role", "session", "at")})
    for row in rows
]
denoise = LLMLinguaDenoiser(Informativeness())  # what is searched; the original text stays in the metadata
steps = [SegmentNodeParser(chunk_size=300), denoise, Words()]
nodes = IngestionPipeline(transformations=steps).run(documents=documents)
print(f"{len(documents)} messages are {len(nodes)} segments; one of them, as it is searched:\n{nodes[1].text}\n")

engine = VectorStoreIndex(nodes, embed_model=Words()).as_query_engine(
    llm=MockLLM(),  # stands for your LLM: it answers with what it is shown
    similarity_top_k=1,
    node_postprocessors=[MetadataReplacementPostProcessor(ORIGINAL_TEXT), CitationNumberer(MemoryBank.open())],
    text_qa_template=CITE_QA_TEMPLATE,
)
answer = str(engine.query("How often does an oak worktop need oiling?"))
print(answer[answer.rindex("<memories>") :].partition("\n\nQuestion")[0])
