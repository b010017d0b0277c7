package tensorboard

import (
	"cmp"
	"encoding/json"
	"path"
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	tasklife "github.com/det-deploy/det-deploy/master/task/lifecycle"
)

// place is where the TensorBoard files of an experiment are.
type place struct {
	experiment int32
	storage    config.Storage
}

// mounted is the container directory of experiments with files in a shared_fs storage. The names of runs in
// TensorBoard begin with it.
const mounted = "/experiment"

// isDirectory reports whether a program finds the files in a directory.
func (p place) isDirectory() bool {
	s := p.storage.Typed()
	return s.SharedFS != nil || s.Directory != nil
}

// inStorage returns the path of the files below a storage, as the client's library writes them.
func (p place) inStorage(cluster string) string {
	return path.Join(cluster, "tensorboard", "experiment", strconv.Itoa(int(p.experiment)))
}

// root returns where the library's program finds the files of the experiment: a directory or a URL.
func (p place) root(cluster string) string {
	s := p.storage.Typed()
	switch {
	case s.SharedFS != nil:
		return path.Join(mounted, strconv.Itoa(int(p.experiment)))
	case s.Directory != nil:
		return path.Join(s.Directory.ContainerPath, p.inStorage(cluster))
	case s.S3 != nil:
		return "s3://" + path.Join(s.S3.Bucket, s.S3.Prefix, p.inStorage(cluster))
	case s.GCS != nil:
		return "gs://" + path.Join(s.GCS.Bucket, s.GCS.Prefix, p.inStorage(cluster))
	case s.Azure != nil:
		return "azure://" + path.Join(s.Azure.Container, p.inStorage(cluster))
	}
	return ""
}

// directories returns the directories of the part of the experiment. Each ends in a slash, because buckets
// are searched by prefix.
func (p place) directories(cluster string, part tasklife.BoardPart) []string {
	root := p.root(cluster)
	if len(part.Trials) == 0 {
		return []string{root + "/"}
	}
	var out []string
	for _, trial := range part.Trials {
		out = append(out, root+"/trial/"+strconv.Itoa(int(trial))+"/")
	}
	return out
}

// mount returns the read-only mount of the files in a shared_fs storage, without the checkpoints beside them;
// nil for other storages.
func (p place) mount(cluster string) *agentv1.Mount {
	s := p.storage.Typed().SharedFS
	if s == nil {
		return nil
	}
	return &agentv1.Mount{
		HostPath: path.Join(s.Directory(), p.inStorage(cluster)), ContainerPath: p.root(cluster), ReadOnly: true,
		Propagation: cmp.Or(s.Propagation, "rprivate"), Storage: path.Clean(s.HostPath),
	}
}

// check returns an error if the program cannot read the files.
func (p place) check(cluster string) error {
	switch {
	case p.storage.Type == nil:
		return status.New(status.FailedPrecondition, "cannot show experiment %d: it has no checkpoint_storage, where its TensorBoard files would be", p.experiment)
	case strings.Contains(p.root(cluster), ","):
		return status.New(status.FailedPrecondition, "cannot show experiment %d: the path of its checkpoint_storage contains a comma, which the program for TensorBoards takes as the end of the path", p.experiment)
	}
	return nil
}

// checkTogether returns an error if one program cannot read the files of all experiments: it has the keys of
// one bucket.
func checkTogether(places []place) error {
	first := places[0]
	for _, p := range places[1:] {
		if first.isDirectory() && p.isDirectory() {
			continue
		}
		same, err := sameBucket(first.storage, p.storage)
		if err != nil {
			return err
		}
		if !same {
			return errMixed(first, p)
		}
	}
	return nil
}

// sameBucket reports whether two storages are the same bucket with the same keys.
func sameBucket(a, b config.Storage) (bool, error) {
	left, err := document.MarshalWithSecrets(bucketOf(a))
	if err != nil {
		return false, err
	}
	right, err := document.MarshalWithSecrets(bucketOf(b))
	return string(left) == string(right), err
}

func bucketOf(s config.Storage) config.Storage {
	s.SaveExperimentBest, s.SaveTrialBest, s.SaveTrialLatest, s.Prefix = nil, nil, nil, nil
	return s
}

// storageFile returns the file from which the library's program reads the storage and its keys.
func storageFile(s config.Storage) ([]byte, error) {
	return json.Marshal(config.Experiment{CheckpointStorage: s}.ShowToTrial()["checkpoint_storage"])
}
