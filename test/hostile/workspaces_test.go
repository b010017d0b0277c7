package hostile_test

// keyed and linked are settings of a workspace that only its members may use.
const (
	keyed  = `{"type": "s3", "bucket": "b", "access_key": "hers", "secret_key": "hers, too"}`
	linked = `{"agentUid": 4321, "agentGid": 4321, "agentUser": "hers", "agentGroup": "hers"}`
)

// workspaceAttempts are made by a user who is not a member of alice's workspaces: of one with
// storage keys, and of one with a Unix account.
func workspaceAttempts() []attempt {
	foreign := aim{user, "storage keys and the Unix account of a workspace that one is no member of"}
	config := `{name: x, entrypoint: \"true\", searcher: {name: single, metric: loss}`
	var all []attempt
	for _, place := range []string{"keys", "account"} {
		for name, c := range map[string]call{
			"runs a command where there are": {method: "POST", path: "/api/v1/commands", body: `{"workspaceId": {` + place + `}, "config": {"entrypoint": ["true"], "resources": {"slots": 0}}}`},
			"runs an experiment where there are": {method: "POST", path: "/api/v1/experiments", body: `{"validateOnly": true, "config": "` + config + `, checkpoint_storage: {type: directory, container_path: /tmp/c}` +
				`}", "projectId": {` + place + `-project}}`},
			"becomes a member where there are": {method: "PATCH", path: "/api/v1/workspaces/{" + place + "}", body: `{"memberIds": [{mallory}]}`},
		} {
			proof := may("alice", c)
			if c.method == "PATCH" {
				proof = may("alice", call{method: c.method, path: c.path, body: `{"memberIds": []}`})
			}
			all = append(all, sent("mallory "+name+" "+place, foreign, "mallory", c, proof))
		}
	}
	return all
}
