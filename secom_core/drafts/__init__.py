"""What layers share that a language model drafts from closed sessions: extraction, the layer, and its turns."""
