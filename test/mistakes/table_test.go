package mistakes_test

// mistake is what a person types.
type mistake struct {
	about string
	// args may contain {done} and {master}, the master's address without a scheme.
	args  []string
	stdin string
	// fine is set if the answer is a success that says what is already so, or a warning.
	fine bool
}

// mistakes are typed in this order against one cluster, which has one agent with one slot, an ended task called
// "done" and the experiment 1, which is paused. {done} is the ID of the task.
func mistakes() []mistake {
	return []mistake{
		{about: "a mistyped command", args: words("versionn")},
		{about: "a mistyped verb", args: words("task lits")},
		{about: "a mistyped flag", args: words("task run --slot 1 -- true")},
		{about: "a format that does not exist", args: words("task list --output yml")},
		{about: "an argument too many", args: words("version 2")},
		{about: "an argument too few", args: words("task logs")},

		{about: "a variable that is not set", args: []string{"agent", "disable", ""}},
		{about: "a variable that is not set among others", args: []string{"task", "kill", "{done}", ""}},

		{about: "no program", args: words("task run")},
		{about: "slots in words", args: words("task run --slots many -- true")},
		{about: "slots below zero", args: words("task run --slots -1 -- true")},
		{about: "more slots than there are", args: words("task run --slots 64 -- true")},
		{about: "a pool that does not exist", args: words("task run --pool gpus -- true")},
		{about: "a priority out of range", args: words("task run --priority 1000 -- true")},
		{about: "a context that does not exist", args: words("task run --context nowhere -- true")},
		{about: "a context that is a file", args: words("task run --context file.txt -- true")},
		{about: "a dangling link in a context", args: words("task run --context dangling -- true")},
		{about: "a link that leads out of a context", args: words("task run --context leading-out -- true")},

		{about: "a configuration that does not exist", args: words("task run --config nothing.yaml -- true")},
		{about: "a directory as configuration", args: words("task run --config dangling -- true")},
		{about: "a tab in YAML", args: words("task run --config tab.yaml -- true")},
		{about: "a list for a mapping", args: words("task run --config list.yaml -- true")},
		{about: "a wrong type", args: words("task run --config type.yaml -- true")},
		{about: "a mistyped key", args: words("task run --config typo.yaml -- true")},
		{about: "YAML that is not closed", args: words("task run --config open.yaml -- true")},

		{about: "a task that does not exist", args: words("task describe 00000000")},
		{about: "too short a beginning of an ID", args: words("task describe 00")},
		{about: "logs of a task that does not exist", args: words("task logs nothing")},
		{about: "a task that has ended is killed", args: words("task kill {done}"), fine: true},
		{about: "a task that does not exist is killed", args: words("task kill 00000000")},
		{about: "a time that is none", args: words("task logs {done} --since yesteryear")},
		{about: "a number of lines below zero", args: words("task logs {done} --tail -5")},
		{about: "a level that does not exist", args: words("task logs {done} --level loud")},

		{about: "an experiment that does not exist", args: words("experiment describe 99")},
		{about: "a name that no experiment has", args: words("experiment describe nothing")},
		{about: "a file that does not exist", args: words("experiment create nothing.yaml")},
		{about: "an empty file", args: words("experiment create empty.yaml")},
		{about: "no entrypoint", args: words("experiment create entrypoint.yaml")},
		{about: "a searcher that does not exist", args: words("experiment create searcher.yaml")},
		{about: "a searcher without a metric", args: words("experiment create metric.yaml")},
		{about: "a list of hyperparameters", args: words("experiment create hyper.yaml")},
		{about: "a storage that does not exist", args: words("experiment create storage.yaml")},
		{about: "an experiment in a pool that does not exist", args: words("experiment create pool.yaml")},
		{about: "a length without its unit", args: words("experiment create period.yaml")},
		{about: "a preview of a file that does not exist", args: words("experiment preview nothing.yaml")},
		{about: "a paused experiment is paused", args: words("experiment pause 1"), fine: true},
		{about: "an open experiment is archived", args: words("experiment archive 1")},
		{about: "an open experiment is deleted", args: words("experiment delete 1 --yes")},
		{about: "a trial that does not exist", args: words("trial logs 99")},
		{about: "a checkpoint that does not exist", args: words("checkpoint describe 00000000")},
		{about: "a model that does not exist", args: words("model describe nothing")},

		{about: "tasks of a pool that does not exist", args: words("task list --pool gpus")},
		{about: "experiments of a pool that does not exist", args: words("experiment list --all --pool gpus")},
		{about: "agents of a pool that does not exist", args: words("agent list --pool gpus")},
		{about: "machines of a pool that does not exist", args: words("pool history gpus")},
		{about: "a template that does not exist", args: words("template describe nothing")},
		{about: "models of a workspace that does not exist", args: words("model list --workspace nothing")},
		{about: "a session that does not exist", args: words("user sessions end nothing")},
		{about: "an agent that is not revoked is admitted", args: words("agent admit nothing"), fine: true},
		{about: "a pool that does not exist is described", args: words("pool describe gpus")},
		{about: "an agent that does not exist is disabled", args: words("agent disable nothing")},
		{about: "a job that does not exist", args: words("job update 00000000 --priority 10")},
		{about: "a user who exists", args: words("user create admin --password-stdin"), stdin: "Correct-Horse-8\n"},
		{about: "a weak password", args: words("user create ada --password-stdin"), stdin: "secret\n"},
		{about: "a user who does not exist", args: words("user deactivate nobody")},
		{about: "a wrong password", args: words("login admin --password-stdin"), stdin: "wrong\n"},

		{about: "a context that does not exist is used", args: words("context use nothing")},
		{about: "a context that does not exist is removed", args: words("context remove nothing")},
		{about: "a master that does not run", args: words("task list --master http://127.0.0.1:1")},
		{about: "TLS with a master that has none", args: words("task list --master https://{master}")},
		{about: "a port that is none", args: words("task list --master http://127.0.0.1:port")},

		{about: "a local cluster that does not exist", args: words("local status")},
		{about: "a number of agents below zero", args: words("local up --agents -1 --yes")},
		{about: "settings with a tab", args: words("aws up --yes --config-file tab.yaml")},
		{about: "settings that do not exist", args: words("gcp up --yes --config-file nothing.yaml")},
		{about: "a cluster that no platform knows", args: words("down --cluster-id nothing --yes")},
		{about: "a cluster ID in capitals", args: words("gcp up --cluster-id LAB --yes")},
		{about: "a kubeconfig that does not exist", args: words("k8s status --cluster-id lab --kubeconfig nothing")},
		{about: "a master.yaml with mistakes", args: words("master config validate master.yaml")},
		{about: "an agent.yaml that is a list", args: words("agent config validate agent.yaml")},
	}
}
