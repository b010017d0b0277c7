package k8s_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/test/dettest"
	"github.com/det-deploy/det-deploy/test/installed"
	"github.com/det-deploy/det-deploy/test/kubetest"
	"github.com/det-deploy/det-deploy/test/rest"
)

// slow lets a test act while a trial trains.
var slow = []string{"hyperparameters.seconds_per_epoch=0.5", "hyperparameters.epochs=5000", "hyperparameters.validate_every=1"}

// launcher works around a bug of torch 1.13, whose launcher cannot parse the member 0 of its own
// enumeration in Python 3.11: the options name a process that does not exist.
const launcher = "python3 -m determined.launch.torch_distributed --redirects 9:0 --tee 9:0 -- python3 train.py"

// training is an experiment, a disturbance of it, and a check of its result. All of them train at
// the same time.
type training struct {
	name     string
	file     string
	settings []string
	disturb  func(r *researcher, id string)
	check    func(r *researcher, id string)
}

// trainings returns the experiments of TestExperimentsAsPods. The first also survives an upgrade.
func trainings(t *testing.T) []training {
	t.Helper()
	spec, err := json.Marshal(object{"spec": onClaim()})
	if err != nil {
		t.Fatal(err)
	}
	return []training{
		{"paused", "line/single.yaml", slow, pauses, continuesHeeded},
		{"a pod is deleted", "line/single.yaml", slow, losesPod, continues},
		{"a pod is deleted, and its program ignores SIGTERM", "line/single.yaml", append([]string{"entrypoint=trap '' TERM; exec python3 train.py"}, slow...), losesPod, continuesHeeded},
		{"to its end", "line/single.yaml", nil, nil, completes},
		{"two pods", "torch/distributed.yaml", []string{"entrypoint=" + launcher}, nil, trainsTogether},
		{"a claim", "line/single.yaml", []string{
			"environment.pod_spec=" + string(spec),
			"checkpoint_storage={type: directory, container_path: /checkpoints, save_trial_latest: 1, save_trial_best: 0}",
		}, nil, deletesCheckpoints},
	}
}

// TestExperimentsAsPods trains with the unmodified client and harness of Determined 0.38.1 in pods
// of a real node.
func TestExperimentsAsPods(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	p := &person{t: t, c: kubetest.Start(t, kubetest.Options{Mode: kubetest.Node}), home: t.TempDir()}
	r := p.research()
	one, two := p.build("v1.0.0"), p.build("v1.1.0")
	p.installs(one, r)
	all := trainings(t)
	ids := make([]string, len(all))
	for i, e := range all {
		ids[i] = r.create(e.file, e.settings...)
	}
	for i, e := range all {
		if e.disturb != nil {
			e.disturb(r, ids[i])
		}
	}
	for i, e := range all {
		t.Run(e.name, func(t *testing.T) { e.check(r.on(t), ids[i]) })
	}
	active := ids[0]
	before := len(r.validations(active))
	p.does(two, "Enabled nodes", "k8s", "upgrade", "--yes", "--cluster-id", "lab", "--pause-tasks", "--pause-limit", "2m",
		"--set", "checkpointStorage.hostPath=,checkpointStorage.storageSize=1Gi")
	r.awaitLog(active, 2, "stopped at epoch", "resumed at epoch")
	r.awaitEpochs(active, before+2)
	r.wantUnbroken(active)
	r.det.OK("", "experiment", "kill", active) // works also for the master that adopted it
	r.await(active, "CANCELED")
	later := r.create("line/single.yaml") // other experiments keep their first directory
	completes(r, later)
	if found, _ := filepath.Glob(filepath.Join(r.claimDirectory("determined-checkpoints-lab"), "experiment-"+later+"-*", "*", "line.json")); len(found) == 0 {
		t.Errorf("got no checkpoint of experiment %s in the claim", later)
	}
}

// research returns a researcher for the cluster that installs creates.
func (p *person) research() *researcher {
	p.t.Helper()
	dettest.Home(p.t) // without it nothing needs to be built
	p.c.LoadImage(p.c.Task())
	return &researcher{t: p.t, c: p.c, namespace: "default-lab-tasks"}
}

// password is that of the first users of the cluster that installs creates.
const password = "Lovelace-1815"

// installs installs a cluster whose tasks use Python, torch and the harness of this machine.
func (p *person) installs(program string, r *researcher) {
	p.t.Helper()
	file := filepath.Join(p.home, "values.yaml")
	text, err := json.Marshal(experimentValues(p.t)) // JSON is YAML
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		p.t.Fatal(err)
	}
	set := images("db.type=embedded", "slotType=cpu", "slotResourceRequests.cpu=0.2", "maxSlotsPerPod=1", "useNodePortForMaster=true", "initialUserPassword="+password)
	out := p.does(program, "DET_MASTER=http://", append([]string{"k8s", "install", "--yes", "--cluster-id", "lab", "--values", file}, set...)...)
	r.url = strings.TrimRight(masterAddress.FindStringSubmatch(out)[1], "/")
	r.det = dettest.Login(p.t, r.url, "determined", password)
	r.token = strings.TrimSpace(r.det.OK("", "dev", "auth-token"))
	claim := filepath.Join(p.home, "claim.yaml")
	if err := os.WriteFile(claim, []byte(checkpointClaims), 0o600); err != nil {
		p.t.Fatal(err)
	}
	p.c.Kubectl("apply", "-n", r.namespace, "-f", claim)
}

const checkpointClaims = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: checkpoints}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`

// claimDirectory returns the directory of a claim's files on this machine, which is the node.
func (r *researcher) claimDirectory(claim string) string {
	r.t.Helper()
	volume := r.c.Kubectl("get", "persistentvolumeclaim", "-n", r.namespace, claim, "-o", "jsonpath={.spec.volumeName}")
	return r.c.Kubectl("get", "persistentvolume", volume, "-o", "jsonpath={.spec.hostPath.path}{.spec.local.path}")
}

// onClaim returns the part of a pod spec that mounts the claim.
func onClaim() object {
	return object{
		"containers": []any{object{"name": "determined-container", "volumeMounts": []any{object{"name": "checkpoints", "mountPath": "/checkpoints"}}}},
		"volumes":    []any{object{"name": "checkpoints", "persistentVolumeClaim": object{"claimName": "checkpoints"}}},
	}
}

type object = map[string]any

// deletionMark is a file that the pods that delete checkpoints create beside them.
const deletionMark = "deleted-as-the-cluster-says"

// experimentValues returns the values of a cluster for training: pods mount Python and the harness
// from their node, and the checkpoint storage is a directory of the node.
func experimentValues(t *testing.T) object {
	t.Helper()
	home, err := filepath.EvalSymlinks(installed.Environment(t, "the harness", "harness", "python3"))
	if err != nil {
		t.Fatal(err)
	}
	storage, err := os.MkdirTemp("", "det-deploy-checkpoints-") //nolint:usetesting // t.TempDir is not accessible to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(storage) }) // a leftover temporary directory is harmless
	var mounts, volumes []any
	for i, dir := range []string{home, "/usr", "/lib", "/lib64", "/etc/alternatives"} {
		name := fmt.Sprintf("node-%d", i)
		mounts = append(mounts, object{"name": name, "mountPath": dir, "readOnly": true})
		volumes = append(volumes, object{"name": name, "hostPath": object{"path": dir}})
	}
	deletion := onClaim()
	deletion["initContainers"] = []any{object{
		"name": "mark", "image": kubetest.TaskImage, "command": []string{"touch", "/checkpoints/" + deletionMark},
		"volumeMounts": []any{object{"name": "checkpoints", "mountPath": "/checkpoints"}},
	}}
	return object{
		"checkpointStorage": object{"type": "shared_fs", "hostPath": storage},
		"taskContainerDefaults": object{
			"environmentVariables": []string{"PATH=" + home + "/bin:/usr/local/bin:/usr/bin:/bin"},
			"cpuPodSpec": object{"spec": object{
				"containers": []any{object{"name": "determined-container", "volumeMounts": mounts}}, "volumes": volumes,
				"terminationGracePeriodSeconds": 60,
			}},
			"checkpointGcPodSpec": object{"spec": deletion},
		},
	}
}

// completes checks the first experiment of docs/experiments.md.
func completes(r *researcher, id string) {
	r.await(id, "COMPLETED")
	if got := fmt.Sprint(r.validations(id)); got != "[2 4 6 8]" {
		r.t.Errorf("got validations at %s, want each second epoch", got)
	}
	r.det.Want([]string{"experiment", "list"}, "line", "COMPLETED")
	r.det.Want([]string{"experiment", "list-checkpoints", id}, "COMPLETED", "line.json")
	r.det.Want([]string{"trial", "logs", fmt.Sprint(r.only(id).ID)}, "Launching: ['sh', '-c', 'python3 train.py']")
}

// trainsTogether checks that one model was trained in two pods, which communicated through gloo.
func trainsTogether(r *researcher, id string) {
	r.await(id, "COMPLETED")
	r.awaitLog(id, 1, "process 0 of 2 begins at epoch 0", "process 1 of 2 begins at epoch 0")
	if got := fmt.Sprint(r.validations(id)); got != "[5 10 15 20]" {
		r.t.Errorf("got validations at %s, want each fifth epoch", got)
	}
}

// pauses pauses a running experiment and activates it.
func pauses(r *researcher, id string) {
	r.awaitEpochs(id, 2)
	r.det.OK("", "experiment", "pause", id)
	r.awaitLog(id, 1, "stopped at epoch")
	r.await(id, "PAUSED")
	r.det.OK("", "experiment", "activate", id)
}

// losesPod deletes the pod of a running experiment, like kubectl drain.
func losesPod(r *researcher, id string) {
	r.awaitEpochs(id, 2)
	r.c.Kubectl("delete", "pod", "-n", r.namespace, "--wait=false", r.pod(id))
}

// continues checks that a trial trains again from its latest checkpoint.
func continues(r *researcher, id string) {
	r.awaitLog(id, 1, "resumed at epoch")
	r.awaitEpochs(id, len(r.validations(id))+2)
	r.wantUnbroken(id)
}

// continuesHeeded checks that the trial saved a checkpoint before it stopped, and lost nothing.
func continuesHeeded(r *researcher, id string) {
	continues(r, id)
	if stopped := epochAfter(r.logs(id), "stopped at epoch "); stopped == "" || stopped != epochAfter(r.logs(id), "resumed at epoch ") {
		r.t.Errorf("stopped at epoch %q, and did not resume there:\n%s", stopped, r.logs(id))
	}
}

// epochAfter returns the number after some words in a log.
func epochAfter(log, words string) string {
	_, rest, _ := strings.Cut(log, words)
	end := strings.IndexFunc(rest, func(c rune) bool { return c < '0' || c > '9' })
	return rest[:max(end, 0)]
}

// deletesCheckpoints checks that all checkpoints on a claim except the latest were deleted, by pods
// with the cluster's pod spec.
func deletesCheckpoints(r *researcher, id string) {
	r.await(id, "COMPLETED")
	var kept, deleted []string
	r.eventually("all but the latest checkpoint are deleted", func() error {
		var out struct {
			Checkpoints []struct{ UUID, State string }
		}
		r.call("experiments/"+id+"/checkpoints", &out)
		kept, deleted = nil, nil
		for _, c := range out.Checkpoints {
			if c.State == "STATE_DELETED" {
				deleted = append(deleted, c.UUID)
			} else {
				kept = append(kept, c.UUID)
			}
		}
		if len(deleted) != 3 || len(kept) != 1 {
			return fmt.Errorf("got %+v", out.Checkpoints)
		}
		return nil
	})
	dir := r.claimDirectory("checkpoints")
	for _, name := range append(kept, deletionMark) {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			r.t.Error(err)
		}
	}
	for _, name := range deleted {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			r.t.Errorf("%s is left of a deleted checkpoint", name)
		}
	}
}
