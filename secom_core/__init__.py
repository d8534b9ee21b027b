"""Long-term conversational memory."""
