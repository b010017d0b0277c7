package spec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/test/golden"
)

const referencePage = "../../../docs/reference/command-yaml.md"

const referenceIntro = `# The configuration of a command

What a command's configuration file may say, or ` + "`--config key=value`" + ` on the command line. Every key may be left out. An unknown key is refused with the one that was probably meant, and so is a value that breaks a rule; all mistakes are named at once.

`

const referenceRules = `
## Rules

- **entrypoint** of one element is a command line for the image's ` + "`/bin/sh`" + `; several elements are executed as they are, so an image needs neither a shell nor Python nor a client library. Without any, the command ends at once with 0.
- **startup-hook.sh** at the top of the files that come with a command is sourced before its program, after the cluster's ` + "`startup_hook`" + `, by the image's ` + "`bash`" + ` or ` + "`sh`" + `. A command of it that fails ends the task with its code.
- **description** defaults to ` + "`Command (three-word-name)`" + ` and names the task and its job.
- **environment.environment_variables** is a list of ` + "`NAME=value`" + `, a mapping of names to values, or either for each of ` + "`cpu`, `cuda`, `rocm`" + `. The cluster's variables come first, the command's last, and the last one wins. A name without ` + "`=`" + ` is accepted and changes nothing: what the container has under that name, from its image, stays. The command's log names it.
- **bind_mounts**: ` + "`host_path`" + ` is absolute; a relative ` + "`container_path`" + ` is below ` + "`work_dir`" + `. On an equal container path the command's mount wins over the cluster's. ` + "`resources.devices`" + ` likewise.
- **resources.slots** of 0 runs on an auxiliary place of the default auxiliary pool; otherwise the default compute pool is used. A command runs on one machine (one pod on Kubernetes). More slots than a machine of the pool has are refused with ` + "`request unfulfillable`" + `, whatever ` + "`launch_error`" + ` says; zero slots wait for a machine where the pool has none yet.
- **resources.preemptible** is our addition. Without it a command keeps its slots until it ends. With it the scheduler may ask for them back where the pool preempts; a program that does not ask for the preemption signal is sent SIGTERM. The command is then run again from its start as a new allocation, also when its machine was lost. One that asks for the signal, and ends with 0 without having acknowledged it, has succeeded and is not run again; one that was sent SIGTERM is, also when it ended with 0.
- **resources.shm_size** takes units of 1024: ` + "`1.5g`, `512MiB`" + `, or a number of bytes.
- **environment.registry_auth** is kept in the master's store until the command has ended, because a waiting command must be able to start after a restart, and is masked wherever it is shown. A reference such as ` + "`file:`" + ` is not followed. For a registry that everybody uses, ` + "`task_container_defaults.registry_auth`" + ` is the better place.
- **What has no effect** on a command is accepted, because files are shared between kinds of tasks, and named in the command's log: ` + "`idle_timeout`, `notebook_idle_type`, `tensorboard_args`, `debug`, `environment.proxy_ports`" + ` beyond publishing the ports, and a ` + "`resources.weight`" + ` other than 1. So is ` + "`environment.pod_spec`" + ` where tasks run on agents; what it may say elsewhere is in [Tasks as pods](../k8s-pods.md).
- **Templates** are not built: ` + "`--template`" + ` is answered with "not found".

Values come from the command, then the pool's ` + "`task_container_defaults`" + `, then the cluster's.

## What a program finds

` + "`DET_TASK_ID`, `DET_ALLOCATION_ID`, `DET_TASK_TYPE`, `DET_SESSION_TOKEN`, `DET_USER`, `DET_USER_TOKEN`, `DET_RESOURCES_ID`, `DET_RESOURCES_TYPE`, `DET_WORKDIR`, `DET_RUN_DIR`, `PYTHONUSERBASE`, `DET_TASK_LOGGING_METADATA`, `DET_SEGMENT_ENABLED`" + `, where the cluster sets them ` + "`DET_INTER_NODE_NETWORK_INTERFACE`, `NCCL_PORT_RANGE`, `GLOO_PORT_RANGE`" + `, and what the agent adds. ` + "`/run/determined/info/cluster.json`" + ` has it as a file, for ` + "`determined.get_cluster_info()`" + `. A program that does not run as root finds its account in ` + "`/run/determined/etc/{passwd,shadow,group}`" + `. Where neither the image, a pod spec nor the task sets them, ` + "`PYTHONUNBUFFERED`" + ` is 1, so that a Python program's output is in the log as it is printed, and ` + "`HOME`" + ` of such a program in a container is its ` + "`work_dir`" + `; an image's own variables are not looked at on Kubernetes.

## How it ends

| end | status | code |
|---|---|---|
| the program ended with 0 | ` + "`allocation exited successfully`" + ` | 0 |
| it ended otherwise | ` + "`resources failed with non-zero exit code: ...`" + ` | its own; of several containers that of the first to fail |
| it never started | ` + "`resources could not be started: ...`" + ` | none |
| it was killed | ` + "`killed by user ...`" + ` | none, unless the program had ended by itself before |
| it was preempted, its machine was lost, its pool went away | the reason | none |

An ended command stays listed for 24 hours with the files that came with it. After that its log can still be read by the task's id, for as long as the cluster keeps logs.
`

func TestTheReferencePageIsFresh(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(referenceIntro)
	b.WriteString("| key | what it is written as | default | what it means |\n|---|---|---|---|\n")
	for _, e := range document.Reference(Default()) {
		if e.Doc == "" {
			t.Errorf("key %s is not described", e.Path)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", e.Path, e.Kind, e.Default, e.Doc)
	}
	b.WriteString(referenceRules)
	golden.Compare(t, referencePage, b.String())
}
