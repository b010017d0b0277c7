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

- **entrypoint**: one element is a command line for ` + "`/bin/sh`" + ` in the image. Several elements are executed without a shell, so that an image needs neither a shell nor Python nor a client library. A command without an entrypoint ends at once with exit code 0.
- **startup-hook.sh** at the top of the command's files is sourced before its program and after the cluster's ` + "`startup_hook`" + `, with ` + "`bash`" + ` or ` + "`sh`" + ` of the image. If one of its commands fails, the task ends with that exit code.
- **description** defaults to ` + "`Command (three-word-name)`" + ` and names the task and its job.
- **environment.environment_variables** is a list of ` + "`NAME=value`" + `, a mapping of names to values, or either for each of ` + "`cpu`, `cuda`, `rocm`" + `. The cluster's variables come first and the command's last; the last one wins. A name without ` + "`=`" + ` has no effect: the container keeps the value from its image. The command's log names it.
- **bind_mounts**: ` + "`host_path`" + ` must be absolute; a relative ` + "`container_path`" + ` is below ` + "`work_dir`" + `. For the same container path, the command's mount replaces the cluster's. The same applies to ` + "`resources.devices`" + `.
- **resources.slots**: 0 uses the default auxiliary pool, otherwise the default compute pool is used. A command runs on one machine (one pod on Kubernetes). More slots than any machine of the pool has are rejected with ` + "`request unfulfillable`" + `, independent of ` + "`launch_error`" + `; tasks without slots wait for the first machine of a pool.
- **resources.preemptible** is an extension. Without it, a command keeps its slots until it ends. With it, the scheduler of a pool with preemption may request them; a program that does not wait for the preemption signal receives SIGTERM. The command then runs again from its start in a new allocation, also if its machine was lost. A program that waits for the signal and ends with 0 without acknowledging it has succeeded and does not run again; a program that received SIGTERM runs again, even if it ended with 0.
- **resources.shm_size** accepts units of 1024, such as ` + "`1.5g`, `512MiB`" + `, or a number of bytes.
- **environment.registry_auth** is stored by the master until the command has ended, because a waiting command must be able to start after a restart. Its values are masked in all output. References such as ` + "`file:`" + ` are not resolved. For a registry that all users need, use ` + "`task_container_defaults.registry_auth`" + `.
- **Fields without effect** on commands are accepted, because configuration files are shared between kinds of tasks, and are named in the command's log: ` + "`idle_timeout`, `notebook_idle_type`, `tensorboard_args`, `debug`" + `, and a ` + "`resources.weight`" + ` other than 1. ` + "`environment.pod_spec`" + ` has no effect on agents; [Tasks as pods](../k8s-pods.md) describes it for Kubernetes.
- **Templates**: ` + "`--template NAME`" + ` merges the template below the command's configuration; settings without effect on commands are named in its output.

Values come from the command, then the pool's ` + "`task_container_defaults`" + `, then the cluster's.

## Environment of the program

` + "`DET_TASK_ID`, `DET_ALLOCATION_ID`, `DET_TASK_TYPE`, `DET_SESSION_TOKEN`, `DET_USER`, `DET_USER_TOKEN`, `DET_RESOURCES_ID`, `DET_RESOURCES_TYPE`, `DET_WORKDIR`, `DET_RUN_DIR`, `PYTHONUSERBASE`, `DET_TASK_LOGGING_METADATA`, `DET_SEGMENT_ENABLED`" + `; if the cluster sets them, ` + "`DET_INTER_NODE_NETWORK_INTERFACE`, `NCCL_PORT_RANGE`, `GLOO_PORT_RANGE`" + `; and the agent's own variables. ` + "`/run/determined/info/cluster.json`" + ` contains the same for ` + "`determined.get_cluster_info()`" + `. A program that does not run as root has its account in ` + "`/run/determined/etc/{passwd,shadow,group}`" + `. Unless the image, a pod spec or the task sets them, ` + "`PYTHONUNBUFFERED`" + ` is 1, so that the output of a Python program appears in the log immediately, and ` + "`HOME`" + ` of such a program in a container is its ` + "`work_dir`" + `. On Kubernetes the variables of an image are not read.

## Exit status

| end | status | code |
|---|---|---|
| the program exited with 0 | ` + "`allocation exited successfully`" + ` | 0 |
| it exited with another code | ` + "`resources failed with non-zero exit code: ...`" + ` | its exit code; with several containers, that of the first failure |
| it could not be started | ` + "`resources could not be started: ...`" + ` | none |
| it was killed | ` + "`killed by user ...`" + ` | none, unless the program had already exited |
| it was preempted, or its machine or pool was lost | the reason | none |

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
