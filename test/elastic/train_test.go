package elastic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/det-deploy/det-deploy/test/faultproxy"
	"github.com/det-deploy/det-deploy/test/installed"
	motest "github.com/det-deploy/det-deploy/test/moto"
	"github.com/det-deploy/det-deploy/test/rest"
)

// trainingPool is added to a pool so that tasks train with the machines' own Python and store
// checkpoints in a bucket.
const trainingPool = `
task_container_defaults:
  environment_variables: ["PATH=HOME/bin:/usr/local/bin:/usr/bin:/bin"]
  bind_mounts:
    - {host_path: HOME, container_path: HOME, read_only: true}
checkpoint_storage: {type: s3, bucket: checkpoints, access_key: KEY, secret_key: SECRET, endpoint_url: "STORE"}
`

// training is an experiment on an elastic pool.
type training struct {
	*cluster

	account *motest.Account

	// id is that of the experiment; store is the proxy between the trial and the bucket of its
	// checkpoints.
	id, token string
	store     *faultproxy.Proxy
	bucket    *s3.Client
}

// onTrainingAmazon starts an experiment that trains until it is stopped.
func onTrainingAmazon(t *testing.T) *training {
	t.Helper()
	home, err := filepath.EvalSymlinks(installed.Environment(t, "the harness", "harness", "python3"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(home, "/tmp/") {
		t.Fatalf("%s: machines have a /tmp of their own; run the test in a clone elsewhere", home)
	}
	c, a := prepareAmazon(t)
	x := &training{cluster: c, account: a.account}
	x.store = faultproxy.Listen(t, c.lab.Listen(t), a.account.Endpoint, c.lab.Client(), 0)
	x.bucket = s3.NewFromConfig(a.account.Config(), func(o *s3.Options) { o.UsePathStyle, o.Region = true, "us-east-1" })
	if _, err := x.bucket.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("checkpoints")}); err != nil {
		t.Fatal(err)
	}
	c.launch(strings.NewReplacer(
		"HOME", home, "KEY", a.account.AccessKey, "SECRET", a.account.SecretKey, "STORE", x.store.URL,
	).Replace(trainingPool) + a.fill(c, amazonPool+indent(`
instance_type: t3.medium
spot: {max_price: "0.05", fallback_to_on_demand: true}
max_instances: 2
max_idle_agent_period: 60s
`)))
	x.token = strings.TrimSpace(c.ok("dev", "auth-token"))
	line := installed.InProject("docs", "examples", "experiments", "line")
	out := c.ok("experiment", "create", filepath.Join(line, "single.yaml"), line, "--config", "hyperparameters.epochs=100000",
		"--config", "hyperparameters.validate_every=1", "--config", "hyperparameters.seconds_per_epoch=0.5")
	id := regexp.MustCompile(`Created experiment (\d+)`).FindStringSubmatch(out)
	if id == nil {
		t.Fatalf("no experiment in %s", out)
	}
	x.id = id[1]
	return x
}

// call sends a request to the API and decodes the response.
func (x *training) call(path string, into any) error {
	cmd := x.lab.Command(x.t.Context(), "curl", "-sf", "-m", "20", "--cacert", x.path("master/tls/ca.crt"),
		"-H", "Authorization: Bearer "+x.token, x.url()+"/api/v1/"+path)
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", path, err, text)
	}
	return json.Unmarshal(text, into)
}

// saved is a completed checkpoint in the master's list.
type saved struct {
	UUID      string
	State     string
	Resources map[string]string
	Metadata  struct {
		Steps int `json:"steps_completed"`
	}
}

// checkpoints returns the master's list of checkpoints, the earliest first.
func (x *training) checkpoints() ([]saved, error) {
	var out struct{ Checkpoints []saved }
	err := x.call("experiments/"+x.id+"/checkpoints?sortByAttr=SORT_BY_BATCH_NUMBER&limit=10000", &out)
	return out.Checkpoints, err
}

// awaitCheckpoints waits until there are more than before checkpoints, and returns their number.
func (x *training) awaitCheckpoints(before int) int {
	x.t.Helper()
	n := 0
	x.eventually(fmt.Sprintf("more than %d checkpoints", before), 4*time.Minute, func() error {
		all, err := x.checkpoints()
		if n = len(all); err == nil && n <= before {
			err = fmt.Errorf("there are %d; %s", n, x.log())
		}
		return err
	})
	return n
}

// log returns the end of the trial's log.
func (x *training) log() string {
	out, err := x.client("", "trial", "logs", "1", "--tail", "12")
	return out + fmt.Sprint(err)
}

// awaitLine waits until the trial has written a text a number of times, and returns the number
// after the last one.
func (x *training) awaitLine(text string, times int) (epoch string) {
	x.t.Helper()
	pattern := regexp.MustCompile(regexp.QuoteMeta(text) + ` (\d+)`)
	x.eventually(fmt.Sprintf("the trial writes %q %d times", text, times), 4*time.Minute, func() error {
		out, err := x.client("", "trial", "logs", "1")
		if err != nil {
			return err
		}
		all := pattern.FindAllStringSubmatch(out, -1)
		if len(all) < times {
			return errors.New(out[max(0, len(out)-2000):])
		}
		epoch = all[len(all)-1][1]
		return nil
	})
	return epoch
}

// wantWhole fails the test if a listed checkpoint lacks a file.
func (x *training) wantWhole() (last saved) {
	x.t.Helper()
	all, err := x.checkpoints()
	if err != nil || len(all) == 0 {
		x.t.Fatalf("got %d checkpoints, %v", len(all), err)
	}
	for _, c := range all {
		if c.State != "STATE_COMPLETED" || !slices.Contains(x.objects(c.UUID), c.UUID+"/line.json") || c.Resources["metadata.json"] == "" {
			x.t.Errorf("checkpoint %+v is listed, and its files are %q", c, x.objects(c.UUID))
		}
	}
	return all[len(all)-1]
}

// awaitHalf waits until the bucket has half a checkpoint and its upload hangs.
func (x *training) awaitHalf() {
	x.t.Helper()
	var seen string
	var since time.Time
	x.eventually("an upload hangs", 2*time.Minute, func() error {
		names := x.objects("")
		at := slices.IndexFunc(names, func(name string) bool {
			uuid, isFirst := strings.CutSuffix(name, "/line.json")
			return isFirst && !slices.Contains(names, uuid+"/metadata.json")
		})
		switch {
		case at < 0:
			seen = ""
			return fmt.Errorf("there are %q", names)
		case names[at] != seen:
			seen, since = names[at], time.Now()
		}
		if time.Since(since) < 3*time.Second {
			return errors.New(seen + " is new")
		}
		return nil
	})
}

// objects returns the names in the bucket with a prefix.
func (x *training) objects(prefix string) (names []string) {
	x.t.Helper()
	pages := s3.NewListObjectsV2Paginator(x.bucket, &s3.ListObjectsV2Input{Bucket: aws.String("checkpoints"), Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(x.t.Context())
		if err != nil {
			x.t.Fatal(err)
		}
		for _, o := range page.Contents {
			names = append(names, *o.Key)
		}
	}
	return names
}

// machine returns the machine on which the trial is running.
func (x *training) machine() string {
	x.t.Helper()
	var out struct{ Agents []struct{ ID, Slots any } }
	var busy []string
	x.eventually("one machine trains", 2*time.Minute, func() error {
		busy = nil
		if err := x.call("agents", &out); err != nil {
			return err
		}
		for _, a := range out.Agents {
			if text, _ := json.Marshal(a.Slots); strings.Contains(string(text), `"container":{`) {
				busy = append(busy, fmt.Sprint(a.ID))
			}
		}
		if len(busy) != 1 {
			return fmt.Errorf("%q do", busy)
		}
		return nil
	})
	return busy[0]
}

// A trial on spot machines loses at most the steps since its latest checkpoint, whether its machine
// is interrupted with a notice or fails during an upload. Neither counts as a restart.
func TestTrialSurvivesLossOfMachines(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	x := onTrainingAmazon(t)
	x.awaitCheckpoints(1)
	first := x.machine()
	// The clock of the cloud waits until the program has saved a checkpoint.
	x.account.Interrupt(t, first, time.Hour)
	stopped := x.awaitLine("stopped at epoch", 1)
	if resumed := x.awaitLine("resumed at epoch", 1); resumed != stopped {
		t.Errorf("got resumed at epoch %s, want %s, at which it saved itself", resumed, stopped)
	}
	second := x.machine()
	if second == first {
		t.Errorf("got the next run on %s, which is taken back", second)
	}
	x.account.Advance(t, time.Hour)
	all, err := x.checkpoints()
	if err != nil {
		t.Fatal(err)
	}
	x.awaitCheckpoints(len(all))

	// The first of a checkpoint's two files is uploaded, the second never.
	remove := x.store.Add(faultproxy.Rule{
		Service: "s3", Action: regexp.MustCompile("^PutObject$"), Body: regexp.MustCompile("steps_completed"), Effect: faultproxy.Hang(),
	})
	x.awaitHalf()
	x.account.End(t, second, "Server.InternalError", "Server.InternalError: Internal error on launch")
	x.eventually("the machine is gone", 2*time.Minute, func() error {
		if running := x.Running(); slices.Contains(running, second) {
			return fmt.Errorf("%q run", running)
		}
		return nil
	})
	last := x.wantWhole()
	remove()
	if resumed := x.awaitLine("resumed at epoch", 2); resumed != fmt.Sprint(last.Metadata.Steps) {
		t.Errorf("got resumed at epoch %s, want %d, that of the last whole checkpoint", resumed, last.Metadata.Steps)
	}
	x.awaitCheckpoints(len(all) + 1)
	x.wantWhole()
	x.wantUnharmed()
	x.history(first, "spot", "interruption")
}

// wantUnharmed reports an error if the program of a trial has failed.
func (x *training) wantUnharmed() {
	x.t.Helper()
	var out struct {
		Trial struct {
			Restarts int
			State    string
		}
	}
	if err := x.call("trials/1", &out); err != nil || out.Trial.Restarts != 0 {
		x.t.Errorf("got %+v, %v, want no restart", out.Trial, err)
	}
	x.ok("experiment", "kill", x.id)
}
