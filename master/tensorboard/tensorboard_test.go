package tensorboard

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	masterconfig "github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/config/security"
	"github.com/det-deploy/det-deploy/master/experiment"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/experiment/search"
	tasklife "github.com/det-deploy/det-deploy/master/task/lifecycle"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

func s3(bucket, prefix, key string) config.Storage {
	return config.StorageOf(masterconfig.CheckpointStorage{S3: &masterconfig.S3Storage{
		Bucket: bucket, Prefix: prefix, AccessKey: secret.Literal("id"), SecretKey: secret.Literal(key),
	}})
}

func sharedFS(host, inside string) config.Storage {
	return config.StorageOf(masterconfig.CheckpointStorage{SharedFS: &masterconfig.SharedFSStorage{HostPath: host, StoragePath: inside}})
}

func directory(at string) config.Storage {
	return config.StorageOf(masterconfig.CheckpointStorage{Directory: &masterconfig.DirectoryStorage{ContainerPath: at}})
}

func TestBestTrials(t *testing.T) {
	t.Parallel()
	var trials []experiment.TrialView
	for id := int32(1); id <= mostTrials+1; id++ {
		trials = append(trials, experiment.TrialView{Trial: record.Trial{ID: id, Best: &record.Best{Metric: search.Number(id)}}})
	}
	for smallerIsBetter, worst := range map[bool]int32{true: mostTrials + 1, false: 1} {
		got := bestTrials(trials, smallerIsBetter)
		if len(got) != mostTrials || slices.Contains(got, worst) || !slices.IsSorted(got) {
			t.Errorf("smaller is better %t: got %v, want all but trial %d", smallerIsBetter, got, worst)
		}
	}
	trials[7].Best = nil
	if got := bestTrials(trials, true); len(got) != mostTrials || slices.Contains(got, 8) {
		t.Errorf("got %v, want all but the trial without a validation", got)
	}
}

func TestFilesOfEachStorage(t *testing.T) {
	t.Parallel()
	gcs := config.StorageOf(masterconfig.CheckpointStorage{GCS: &masterconfig.GCSStorage{Bucket: "g", Prefix: "p"}})
	azure := config.StorageOf(masterconfig.CheckpointStorage{Azure: &masterconfig.AzureStorage{Container: "z", ConnectionString: secret.Literal("hush")}})
	for _, tc := range []struct {
		storage config.Storage
		want    string
		mount   string
	}{
		{sharedFS("/srv", "in/experiment-7-1f3a90cc"), "/experiment/7/", "/srv/in/experiment-7-1f3a90cc/cid/tensorboard/experiment/7"},
		{directory("/c"), "/c/cid/tensorboard/experiment/7/", ""},
		{s3("b", "p/q", "hush"), "s3://b/p/q/cid/tensorboard/experiment/7/", ""},
		{gcs, "gs://g/p/cid/tensorboard/experiment/7/", ""},
		{azure, "azure://z/cid/tensorboard/experiment/7/", ""},
	} {
		p := place{7, tc.storage}
		if got := p.directories("cid", tasklife.BoardPart{Experiment: 7}); !slices.Equal(got, []string{tc.want}) {
			t.Errorf("%s: got %q, want %q", *tc.storage.Type, got, tc.want)
		}
		if got := p.directories("cid", tasklife.BoardPart{Experiment: 7, Trials: []int32{3, 30}}); !slices.Equal(got, []string{tc.want + "trial/3/", tc.want + "trial/30/"}) {
			t.Errorf("%s: got the trials %q", *tc.storage.Type, got)
		}
		m := p.mount("cid")
		if m.GetHostPath() != tc.mount || m != nil && (!m.GetReadOnly() || m.GetStorage() != "/srv" || m.GetContainerPath()+"/" != tc.want) {
			t.Errorf("%s: got the mount %v, want %q for reading", *tc.storage.Type, m, tc.mount)
		}
	}
	for _, p := range []place{{7, config.Storage{}}, {7, s3("b", "a,b", "k")}} {
		if err := p.check("cid"); status.Of(err) != status.FailedPrecondition {
			t.Errorf("got %v, want a refusal", err)
		}
	}
}

func TestStoragesTogether(t *testing.T) {
	t.Parallel()
	for i, tc := range []struct {
		a, b config.Storage
		ok   bool
	}{
		{sharedFS("/a", ""), sharedFS("/b", ""), true},
		{sharedFS("/a", ""), directory("/b"), true},
		{s3("b", "p", "k"), s3("b", "q", "k"), true},
		{s3("b", "", "k"), s3("b", "", "other"), false},
		{s3("b", "", "k"), s3("c", "", "k"), false},
		{s3("b", "", "k"), sharedFS("/a", ""), false},
	} {
		err := checkTogether([]place{{1, tc.a}, {2, tc.b}})
		if (err == nil) != tc.ok || err != nil && (strings.Contains(err.Error(), `"k"`) || status.Of(err) != status.InvalidArgument) {
			t.Errorf("case %d: got %v, want them together: %t", i, err, tc.ok)
		}
	}
}

// experimentOf returns an experiment of user 7.
func experimentOf(id int32, s config.Storage) source {
	x := config.Experiment{CheckpointStorage: s, BindMounts: []container.BindMount{{HostPath: "/data", ContainerPath: "data"}}}
	x.Environment.Image.CPU = fmt.Sprintf("image%d", id)
	x.Environment.Variables.CPU = []string{"SECRET=x"}
	x.Environment.RegistryAuth = &spec.RegistryAuth{Username: "robot", Password: document.NewSecret("hush")}
	return source{
		part:       tasklife.BoardPart{Experiment: id},
		experiment: record.Experiment{ID: id, UserID: 7, Username: "ann", Queue: record.Queue{Pool: "gpus"}}, config: x, place: place{id, s},
	}
}

func TestInheritedSettings(t *testing.T) {
	t.Parallel()
	sources := []source{experimentOf(1, directory("/c")), experimentOf(2, directory("/c"))}
	for by, secrets := range map[*apiv1.User]bool{{Id: 7}: true, {Id: 1, Admin: true}: true, {Id: 8}: false} {
		c, err := inherit(by, sources)
		if err != nil || c.Environment.Image.CPU != "image2" || c.Resources.ResourcePool != "gpus" {
			t.Errorf("got %+v and %v, want the image and the pool of the latest experiment", c, err)
		}
		if diff := cmp.Diff(c.BindMounts, []container.BindMount{{HostPath: "/data", ContainerPath: "data", ReadOnly: true}}); diff != "" {
			t.Errorf("mounts (-got +want):\n%s", diff)
		}
		if got := c.Environment.RegistryAuth != nil && len(c.Environment.Variables.CPU) == 1; got != secrets {
			t.Errorf("user %d: got variables and credentials %t, want %t", by.GetId(), got, secrets)
		}
	}
	sources[1].config.BindMounts = []container.BindMount{{HostPath: "/other", ContainerPath: "data"}}
	if _, err := inherit(&apiv1.User{Id: 7}, sources); status.Of(err) != status.InvalidArgument {
		t.Errorf("got %v, want different mounts refused", err)
	}
}

func TestPodSpecOfOthers(t *testing.T) {
	t.Parallel()
	whole, err := document.RawJSON([]byte(`{"metadata":{"labels":{"team":"a"},"annotations":{"token":"hush"}},"spec":{
		"nodeSelector":{"disk":"ssd"},"serviceAccountName":"reader","volumes":[{"name":"data"}],"initContainers":[{"name":"login","args":["hush"]}],
		"containers":[{"name":"side","env":[{"name":"A","value":"hush"}]},
			{"name":"determined-container","volumeMounts":[{"name":"data","mountPath":"/c"}],"env":[{"name":"A","value":"hush"}],"command":["hush"]}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	x := experimentOf(1, directory("/c"))
	x.config.Environment.PodSpec = whole
	for by, want := range map[*apiv1.User]string{
		{Id: 7}: string(whole.JSON()),
		{Id: 8}: `{"metadata":{"labels":{"team":"a"}},"spec":{"containers":[{"name":"determined-container","volumeMounts":[{"name":"data","mountPath":"/c"}]}],` +
			`"nodeSelector":{"disk":"ssd"},"serviceAccountName":"reader","volumes":[{"name":"data"}]}}`,
	} {
		c, err := inherit(by, []source{x})
		if got := string(c.Environment.PodSpec.JSON()); err != nil || got != want {
			t.Errorf("user %d: got %s and %v, want %s", by.GetId(), got, err, want)
		}
	}
	x.config.Environment.PodSpec = document.Raw{}
	if c, err := inherit(&apiv1.User{Id: 8}, []source{x}); err != nil || !c.Environment.PodSpec.IsZero() {
		t.Errorf("got %s and %v, want no pod spec", c.Environment.PodSpec.JSON(), err)
	}
}

func TestSettingsOfTheCluster(t *testing.T) {
	t.Parallel()
	given := container.Images{CPU: "cluster"}
	if got, want := notGiven(container.Images{CPU: "cluster", CUDA: "own", ROCm: spec.DefaultImage}, given), (container.Images{CUDA: "own"}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	variables := without(container.Environment{CPU: []string{"A=1", "B=2"}}, container.Environment{CPU: []string{"A=1"}})
	if !slices.Equal(variables.CPU, []string{"B=2"}) {
		t.Errorf("got %v, want B alone", variables)
	}
}

func TestKeysOfOthers(t *testing.T) {
	t.Parallel()
	own := experimentOf(1, s3("b", "", "hush"))
	cluster := &TensorBoards{Config{Storage: &masterconfig.CheckpointStorage{S3: &masterconfig.S3Storage{Bucket: "x", AccessKey: secret.Literal("id"), SecretKey: secret.Literal("hush")}}}}
	for _, tc := range []struct {
		boards *TensorBoards
		by     *apiv1.User
		ok     bool
	}{
		{&TensorBoards{}, &apiv1.User{Id: 7}, true},
		{&TensorBoards{}, &apiv1.User{Id: 1, Admin: true}, true},
		{&TensorBoards{}, &apiv1.User{Id: 8}, false},
		{cluster, &apiv1.User{Id: 8}, true},
	} {
		if err := tc.boards.checkKeys(tc.by, own); (err == nil) != tc.ok {
			t.Errorf("user %d: got %v, want it allowed: %t", tc.by.GetId(), err, tc.ok)
		}
	}
}

func TestKeysAreOnlyInAFile(t *testing.T) {
	t.Parallel()
	task := tasklife.Task{ID: "t", Unix: security.AgentUser{UID: 1000, GID: 1001}, Board: &tasklife.Board{}}
	cfg := spec.Config{TensorboardArgs: []string{"--samples_per_plugin=scalars=9"}}
	p, err := buildProgram("cid", task, cfg, []source{experimentOf(1, s3("b", "", "hush")), experimentOf(12, s3("b", "", "hush"))})
	if err != nil {
		t.Fatal(err)
	}
	tail := p.Argv[len(p.Argv)-3:]
	if want := []string{storagePath, "s3://b/cid/tensorboard/experiment/1/,s3://b/cid/tensorboard/experiment/12/", cfg.TensorboardArgs[0]}; !slices.Equal(tail, want) {
		t.Errorf("got the arguments %q, want %q", tail, want)
	}
	f := p.Files[0]
	if !strings.Contains(string(f.GetContent()), `"secret_key":"hush"`) || f.GetMode() != 0o400 || f.GetUid() != 1000 || f.GetGid() != 1001 {
		t.Errorf("got the file %v, want the keys in it, for the user of the task alone", f)
	}
	if rest := fmt.Sprint(p.Argv, p.Variables, p.Config); strings.Contains(rest, "hush") {
		t.Errorf("a key is in %s", rest)
	}
}
