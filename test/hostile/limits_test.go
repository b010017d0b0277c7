package hostile_test

import (
	"context"
	"fmt"
	"strings"
)

const (
	// mostProcesses and minPriority are limits of the task policy in the worlds on this machine.
	mostProcesses = 200
	minPriority   = 10

	asksPlace  = "a place in the queue before others"
	asksForks  = "more processes than a task may have"
	asksShared = "an image from a server of the machine itself"
)

// limits are the settings of the task policy in the worlds on this machine.
var limits = fmt.Sprintf("max_processes: %d, min_priority: %d", mostProcesses, minPriority)

// priorityAttempts are made by a user whose jobs may not be as urgent as an administrator's.
func priorityAttempts() []attempt {
	all := []attempt{
		taken("a task asks for a priority that is too urgent", asksPlace, resources("priority", minPriority-1)),
		taken("a task asks for the first priority", asksPlace, resources("priority", 1)),
	}
	for name, c := range map[string]call{
		"makes her task more urgent":        {method: "POST", path: "/api/v1/commands/{mallory-task}/set_priority", body: `{"priority": 1}`},
		"makes her job more urgent":         {method: "POST", path: "/api/v1/job-queues", body: `{"updates": [{"jobId": "{mallory-task}", "priority": 1}]}`},
		"creates an experiment that is too": {method: "POST", path: "/api/v1/experiments", body: `{"validateOnly": true, "config": "{name: x, entrypoint: \"true\", searcher: {name: single, metric: loss}, resources: {priority: 1}, checkpoint_storage: {type: directory, container_path: /tmp/c}}"}`},
	} {
		all = append(all, sent("mallory "+name, aim{user, asksPlace}, "mallory", c, may("admin", c)))
	}
	return all
}

// forks starts more processes than the policy allows. The shell ends if it cannot fork.
var forks = submission{
	name: "starts more processes than it may",
	text: fmt.Sprintf("(n=0; while [ $n -lt %d ]; do sleep 3 & n=$((n+1)); done; true) 2>/dev/null", mostProcesses+50),
}

// processAttempts start more processes than a task may have, in a runtime of this machine.
func processAttempts(at where) []attempt {
	return []attempt{{
		name: "a task on " + string(at) + " " + forks.name, who: userTask, where: at, wants: asksForks,
		try: func(ctx context.Context, w *world) outcome { return w.submit(ctx, "mallory", forks) },
		control: &control{"an administrator's task on " + string(at) + " " + forks.name, func(ctx context.Context, w *world) outcome {
			return w.submit(ctx, "admin", forks)
		}},
	}}
}

// registryAttempts name images that the agent's machine would fetch from itself.
func registryAttempts() []attempt {
	var all []attempt
	for _, image := range []string{
		"localhost:5000/x", "127.0.0.1:5000/x", "127.1:80/x", "[::1]:5000/x", "169.254.169.254/latest/x", "metadata.google.internal/x", "2130706433:80/x", "a.localhost/x",
	} {
		all = append(all, taken("a task asks for the image "+image, asksShared, environment("image", image)))
	}
	return all
}

// variable is a value in the environment variables of alice's template.
const variable = "only-alice-sees-it"

// templateAttempts read the environment variables of another's template.
func templateAttempts() []attempt {
	reads := func(by string) func(context.Context, *world) outcome {
		return func(ctx context.Context, w *world) outcome {
			a, err := w.do(ctx, call{"GET", "/api/v1/templates/{template}", "", bearing(w.tokens[by])})
			if err != nil {
				return isUntried(err)
			}
			return gained(strings.Contains(string(a.body), variable), "%s", a)
		}
	}
	return []attempt{{
		name: "mallory reads the variables of alice's template", who: user, where: anywhere, wants: "the environment variables of another's template",
		try: reads("mallory"), control: &control{"alice reads the variables of her template", reads("alice")},
	}}
}

// oddNameAttempts use identifiers that must not exist.
func oddNameAttempts() []attempt {
	odd := aim{user, "names and numbers that clients mistake for others"}
	run := func(workspace string) call {
		return call{method: "POST", path: "/api/v1/commands", body: `{"workspaceId": ` + workspace + `, "config": {"entrypoint": ["true"], "resources": {"slots": 0}}}`}
	}
	all := []attempt{sent("mallory runs a command in workspace -1", odd, "mallory", run("-1"), may("mallory", run("1")))}
	for _, name := range []string{".", "..", "a\\u0007b"} {
		for path, body := range map[string]string{
			"/api/v1/workspaces": `{"name": "NAME"}`, "/api/v1/models": `{"name": "NAME"}`,
		} {
			as := func(name string) call {
				return call{method: "POST", path: path, body: strings.ReplaceAll(body, "NAME", name)}
			}
			all = append(all, sent("mallory posts the name "+name+" to "+path, odd, "mallory", as(name), may("mallory", as("plain-{mark}"))))
		}
	}
	return all
}
