"""Text of any script: terms, stopwords, the days that it speaks of, and how it is shown."""
