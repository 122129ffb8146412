# The last one: those before it have removed what they made.
ls -a | grep -v '\.sh$'
