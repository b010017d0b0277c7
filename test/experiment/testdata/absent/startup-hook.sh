# On one agent the program never begins.
[ "$DET_AGENT_ID" != agent-1 ] || sleep 3600
