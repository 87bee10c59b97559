"""How well this knowledge base answers: golden questions, runs over them, what differs."""
