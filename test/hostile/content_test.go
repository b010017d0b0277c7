package hostile_test

import (
	"context"
	"slices"
)

// contentAttempts are made by a user who tries to read the files and checkpoints of alice's
// experiment through references to them.
func contentAttempts() []attempt {
	private := aim{user, "content of another's experiment by every reference to it"}
	create := func(searcher, more string) call {
		config := `{name: x, entrypoint: \"true\", searcher: {name: single, metric: loss` + searcher + `}, checkpoint_storage: {type: directory, container_path: /tmp/c}}`
		return call{method: "POST", path: "/api/v1/experiments", body: `{"validateOnly": true, "config": "` + config + `"` + more + `}`}
	}
	var all []attempt
	for name, c := range map[string]call{
		"forks it":                           create("", `, "parentId": {experiment}`),
		"forks it, in the other spelling":    create("", `, "parent_id": {experiment}`),
		"forks it with an empty list":        create("", `, "parentId": {experiment}, "modelDefinition": []`),
		"starts from its checkpoint":         create(", source_checkpoint_uuid: {checkpoint}", ""),
		"starts from its trial":              create(", source_trial_id: {trial}", ""),
		"forks it and starts from its trial": create(", source_trial_id: {trial}", `, "parentId": {experiment}`),
	} {
		all = append(all, sent("mallory "+name, private, "mallory", c, may("alice", c)))
	}
	const registering = "POST /api/v1/models/{model}/versions"
	i := slices.IndexFunc(requests, func(r request) bool { return r.id == registering })
	return append(all, attempt{
		name: "mallory registers its checkpoint", who: user, where: anywhere, wants: private.wants, control: requests[i].control(),
		try: func(ctx context.Context, w *world) outcome {
			if err := w.try(ctx, "mallory", call{method: "POST", path: "/api/v1/models", body: `{"name": "mallorys-{mark}"}`}, nil); err != nil {
				return isUntried(err)
			}
			return w.carryOut(ctx, call{"POST", "/api/v1/models/mallorys-{mark}/versions", `{"checkpointUuid": "{checkpoint}"}`, bearing(w.tokens["mallory"])})
		},
	})
}
