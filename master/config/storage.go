package config

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config/container"
)

// CheckpointStorage configures the storage of checkpoints.
type CheckpointStorage struct {
	SharedFS  *SharedFSStorage
	S3        *S3Storage
	GCS       *GCSStorage
	Azure     *AzureStorage
	Directory *DirectoryStorage
}

// Variants returns the types.
func (c *CheckpointStorage) Variants() []document.Variant {
	return []document.Variant{
		{Type: "shared_fs", Field: &c.SharedFS},
		{Type: "s3", Field: &c.S3},
		{Type: "gcs", Field: &c.GCS},
		{Type: "azure", Field: &c.Azure},
		{Type: "directory", Field: &c.Directory},
	}
}

// Saved is the number of checkpoints to keep.
type Saved struct {
	ExperimentBest int `yaml:"save_experiment_best" doc:"Number of best checkpoints to keep per experiment"`
	TrialBest      int `yaml:"save_trial_best" doc:"Number of best checkpoints to keep per trial"`
	TrialLatest    int `yaml:"save_trial_latest" doc:"Number of latest checkpoints to keep per trial"`
}

// DefaultSaved returns the defaults of Determined 0.38.1.
func DefaultSaved() Saved { return Saved{TrialBest: 1, TrialLatest: 1} }

// SharedFSStorage is a directory that all agents mount.
type SharedFSStorage struct {
	Saved           `yaml:",inline"`
	HostPath        string `yaml:"host_path" doc:"Directory of each agent's machine"`
	StoragePath     string `yaml:"storage_path" doc:"Directory inside host_path"`
	Propagation     string `yaml:"propagation" doc:"Mount propagation"`
	ContainerPath   string `yaml:"container_path" doc:"No effect; kept for older files"`
	CheckpointPath  string `yaml:"checkpoint_path" doc:"Older name of storage_path"`
	TensorboardPath string `yaml:"tensorboard_path" doc:"No effect; kept for older files"`
}

// S3Storage is a bucket of Amazon S3 or a compatible server.
type S3Storage struct {
	Saved       `yaml:",inline"`
	Bucket      string       `yaml:"bucket" doc:"Bucket"`
	AccessKey   secret.Value `yaml:"access_key" doc:"Access key; by default the task's own identity"`
	SecretKey   secret.Value `yaml:"secret_key" doc:"Secret key"`
	EndpointURL string       `yaml:"endpoint_url" doc:"Address of a server other than Amazon's"`
	Prefix      string       `yaml:"prefix" doc:"Prefix of object names"`
}

// GCSStorage is a bucket of Google Cloud Storage.
type GCSStorage struct {
	Saved  `yaml:",inline"`
	Bucket string `yaml:"bucket" doc:"Bucket"`
	Prefix string `yaml:"prefix" doc:"Prefix of object names"`
}

// AzureStorage is a container of Azure Blob Storage.
type AzureStorage struct {
	Saved            `yaml:",inline"`
	Container        string       `yaml:"container" doc:"Container"`
	ConnectionString secret.Value `yaml:"connection_string" doc:"Connection string; this or account_url"`
	AccountURL       string       `yaml:"account_url" doc:"Account address; this or connection_string"`
	Credential       secret.Value `yaml:"credential" doc:"Credential for account_url"`
}

// DirectoryStorage is a directory inside task containers.
type DirectoryStorage struct {
	Saved         `yaml:",inline"`
	ContainerPath string `yaml:"container_path" doc:"Directory inside task containers"`
}

// SetDefaults sets s to the defaults.
func (s *SharedFSStorage) SetDefaults() {
	*s = SharedFSStorage{Saved: DefaultSaved(), Propagation: "rprivate"}
}

// SetDefaults sets s to the defaults.
func (s *S3Storage) SetDefaults() { s.Saved = DefaultSaved() }

// SetDefaults sets s to the defaults.
func (s *GCSStorage) SetDefaults() { s.Saved = DefaultSaved() }

// SetDefaults sets s to the defaults.
func (s *AzureStorage) SetDefaults() { s.Saved = DefaultSaved() }

// SetDefaults sets s to the defaults.
func (s *DirectoryStorage) SetDefaults() { s.Saved = DefaultSaved() }

// Validate checks the configured storage.
func (c CheckpointStorage) Validate(at string) document.Errors {
	key := func(k string) string { return document.Join(at, k) }
	var e document.Errors
	switch {
	case c.SharedFS != nil:
		e = c.SharedFS.Validate(at)
	case c.S3 != nil:
		e = c.S3.checkCounts(key("prefix"), c.S3.Prefix)
		e.Check(c.S3.Bucket != "", key("bucket"), "is required")
		e.Check(c.S3.AccessKey.IsZero() == c.S3.SecretKey.IsZero(), key("secret_key"), "must be set together with access_key")
	case c.GCS != nil:
		e = c.GCS.checkCounts(key("prefix"), c.GCS.Prefix)
		e.Check(c.GCS.Bucket != "", key("bucket"), "is required")
	case c.Azure != nil:
		a := c.Azure
		e = a.checkCounts(key("container"), "")
		e.Check(a.Container != "", key("container"), "is required")
		e.Check(a.ConnectionString.IsZero() != (a.AccountURL == ""), key("connection_string"), "exactly one of connection_string and account_url is required")
		e.Check(a.Credential.IsZero() || a.AccountURL != "", key("credential"), "is only for account_url")
	case c.Directory != nil:
		e = c.Directory.checkCounts(key("container_path"), "")
		e.Check(path.IsAbs(c.Directory.ContainerPath), key("container_path"), "must be absolute (is %q)", c.Directory.ContainerPath)
	}
	return e
}

// checkCounts checks a prefix and the counts, which are siblings of the key at.
func (s Saved) checkCounts(at, prefix string) document.Errors {
	var e document.Errors
	above := at[:max(0, strings.LastIndexByte(at, '.'))]
	for key, n := range map[string]int{
		"save_experiment_best": s.ExperimentBest, "save_trial_best": s.TrialBest, "save_trial_latest": s.TrialLatest,
	} {
		e.Check(n >= 0, document.Join(above, key), "must be at least 0 (is %d)", n)
	}
	slices.SortFunc(e, func(a, b document.Problem) int { return strings.Compare(a.Path, b.Path) })
	e.Check(!slices.Contains(strings.Split(prefix, "/"), ".."), at, "must not contain .. (is %q)", prefix)
	return e
}

// Validate checks that the directory for checkpoints is inside the mounted one.
func (s SharedFSStorage) Validate(at string) document.Errors {
	e := s.checkCounts(document.Join(at, "storage_path"), "")
	e.Check(path.IsAbs(s.HostPath), document.Join(at, "host_path"), "is required and must be absolute (is %q)", s.HostPath)
	_, own := AboveOwn(s.HostPath)
	e.Check(own == "", document.Join(at, "host_path"), "must not be in the directory of an experiment (%s); the name is reserved for directories that the cluster creates", own)
	e.Check(s.StoragePath == "" || s.CheckpointPath == "", document.Join(at, "checkpoint_path"), "is an older name of storage_path; keep one")
	inside := cmp.Or(s.StoragePath, s.CheckpointPath)
	if !path.IsAbs(inside) {
		inside = path.Join(s.HostPath, inside)
	}
	inside = path.Clean(inside)
	host := strings.TrimSuffix(path.Clean(s.HostPath), "/")
	e.Check(inside == path.Clean(s.HostPath) || strings.HasPrefix(inside, host+"/"), document.Join(at, "storage_path"),
		"must be inside host_path (%s is not inside %s)", inside, s.HostPath)
	return append(e, container.CheckPropagation(document.Join(at, "propagation"), s.Propagation)...)
}

// With storage of type shared_fs, each experiment has its own directory for checkpoints, such as
// experiment-7-1f3a90cc. The random mark distinguishes it from that of an earlier cluster's
// experiment with the same ID.
var ownDirectory = regexp.MustCompile(`^experiment-[0-9]+-[0-9a-f]{8}$`)

// OwnDirectory returns the name of an experiment's directory; mark has 8 hexadecimal digits.
func OwnDirectory(experiment int32, mark string) string {
	return fmt.Sprintf("experiment-%d-%s", experiment, mark)
}

// AboveOwn splits a path before the first directory of an experiment. Own is the name of that
// directory, or "".
func AboveOwn(dir string) (above, own string) {
	parts := strings.Split(dir, "/")
	for i, p := range parts {
		if ownDirectory.MatchString(p) {
			return strings.Join(parts[:i], "/"), p
		}
	}
	return dir, ""
}

// Inside returns the directory of checkpoints relative to host_path.
func (s SharedFSStorage) Inside() string {
	inside := cmp.Or(s.StoragePath, s.CheckpointPath)
	if path.IsAbs(inside) {
		inside = strings.TrimPrefix(path.Clean(inside), path.Clean(s.HostPath))
	}
	return strings.TrimPrefix(path.Clean("/"+inside), "/")
}

// Directory returns the directory of checkpoints on the machine.
func (s SharedFSStorage) Directory() string { return path.Join(s.HostPath, s.Inside()) }
