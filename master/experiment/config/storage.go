package config

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
)

// Storage configures the checkpoint storage. A user may set a part of it and leave the rest,
// including the type, to the cluster. References to secrets are not resolved, because they would let
// a user read the master's files.
type Storage struct {
	Type               *string          `yaml:"type" doc:"shared_fs, directory, s3, gcs or azure"`
	SaveExperimentBest *int             `yaml:"save_experiment_best" doc:"Number of best checkpoints to keep for the experiment"`
	SaveTrialBest      *int             `yaml:"save_trial_best" doc:"Number of best checkpoints to keep for each trial"`
	SaveTrialLatest    *int             `yaml:"save_trial_latest" doc:"Number of latest checkpoints to keep for each trial"`
	HostPath           *string          `yaml:"host_path" doc:"Host directory"`
	StoragePath        *string          `yaml:"storage_path" doc:"Directory below host_path"`
	Propagation        *string          `yaml:"propagation" doc:"Mount propagation"`
	ContainerPath      *string          `yaml:"container_path" doc:"Directory inside containers"`
	CheckpointPath     *string          `yaml:"checkpoint_path" doc:"Older name of storage_path"`
	TensorboardPath    *string          `yaml:"tensorboard_path" doc:"No effect"`
	Bucket             *string          `yaml:"bucket" doc:"Bucket"`
	Prefix             *string          `yaml:"prefix" doc:"Prefix of object names"`
	AccessKey          *document.Secret `yaml:"access_key" doc:"Access key"`
	SecretKey          *document.Secret `yaml:"secret_key" doc:"Secret key"`
	EndpointURL        *string          `yaml:"endpoint_url" doc:"Endpoint of an S3-compatible service"`
	Container          *string          `yaml:"container" doc:"Azure container"`
	ConnectionString   *document.Secret `yaml:"connection_string" doc:"Azure connection string"`
	AccountURL         *string          `yaml:"account_url" doc:"Azure account URL"`
	Credential         *document.Secret `yaml:"credential" doc:"Credential for account_url"`
}

// savedKeys lists the settings of every type.
func savedKeys() []string {
	return []string{"type", "save_experiment_best", "save_trial_best", "save_trial_latest"}
}

// typeKeys lists the additional settings of each type.
func typeKeys() map[string][]string {
	return map[string][]string{
		"shared_fs": {"host_path", "storage_path", "propagation", "container_path", "checkpoint_path", "tensorboard_path"},
		"directory": {"container_path"},
		"s3":        {"bucket", "prefix", "access_key", "secret_key", "endpoint_url"},
		"gcs":       {"bucket", "prefix"},
		"azure":     {"container", "connection_string", "account_url", "credential"},
	}
}

func (s Storage) usesKey(key string) bool {
	return slices.Contains(savedKeys(), key) || slices.Contains(typeKeys()[valueOf(s.Type)], key)
}

// withoutRivals removes the settings that conflict with upper: a part of another key pair, and
// another form of the same account or directory.
func (s Storage) withoutRivals(upper Storage) Storage {
	if upper.AccessKey != nil || upper.SecretKey != nil {
		s.AccessKey, s.SecretKey = nil, nil
	}
	if upper.ConnectionString != nil || upper.AccountURL != nil {
		s.ConnectionString, s.AccountURL, s.Credential = nil, nil, nil
	}
	if upper.StoragePath != nil || upper.CheckpointPath != nil {
		s.StoragePath, s.CheckpointPath = nil, nil
	}
	return s
}

// InOwnDirectory returns s with a directory for one experiment, in place of one that s already has,
// as in a copied configuration. Only storages of type shared_fs are changed.
func (s Storage) InOwnDirectory(name string) Storage {
	shared := s.Typed().SharedFS
	if shared == nil {
		return s
	}
	above, _ := config.AboveOwn(shared.Inside())
	s.StoragePath, s.CheckpointPath = new(path.Join(above, name)), nil
	return s
}

// OwnDirectory returns the name of the experiment's directory in s, or "" if it has none.
func (s Storage) OwnDirectory() string {
	if shared := s.Typed().SharedFS; shared != nil {
		_, own := config.AboveOwn(shared.Inside())
		return own
	}
	return ""
}

// Typed converts the storage to the form of master.yaml. It returns the zero value for a storage
// without a type.
func (s Storage) Typed() config.CheckpointStorage {
	var c config.CheckpointStorage
	keep := config.Saved{ExperimentBest: valueOf(s.SaveExperimentBest), TrialBest: valueOf(s.SaveTrialBest), TrialLatest: valueOf(s.SaveTrialLatest)}
	switch valueOf(s.Type) {
	case "shared_fs":
		c.SharedFS = &config.SharedFSStorage{
			Saved: keep, HostPath: valueOf(s.HostPath), StoragePath: valueOf(s.StoragePath), Propagation: valueOf(s.Propagation),
			ContainerPath: valueOf(s.ContainerPath), CheckpointPath: valueOf(s.CheckpointPath), TensorboardPath: valueOf(s.TensorboardPath),
		}
	case "directory":
		c.Directory = &config.DirectoryStorage{Saved: keep, ContainerPath: valueOf(s.ContainerPath)}
	case "s3":
		c.S3 = &config.S3Storage{
			Saved: keep, Bucket: valueOf(s.Bucket), Prefix: valueOf(s.Prefix), EndpointURL: valueOf(s.EndpointURL),
			AccessKey: literalValue(s.AccessKey), SecretKey: literalValue(s.SecretKey),
		}
	case "gcs":
		c.GCS = &config.GCSStorage{Saved: keep, Bucket: valueOf(s.Bucket), Prefix: valueOf(s.Prefix)}
	case "azure":
		c.Azure = &config.AzureStorage{
			Saved: keep, Container: valueOf(s.Container), ConnectionString: literalValue(s.ConnectionString),
			AccountURL: valueOf(s.AccountURL), Credential: literalValue(s.Credential),
		}
	}
	return c
}

// Location returns the address of the storage for people: a directory, or a URL of a bucket. It
// returns "" for a storage without a type.
func (s Storage) Location() string {
	bucket := func(scheme, name string) string {
		return strings.TrimSuffix(scheme+"://"+path.Join(name, valueOf(s.Prefix)), "/")
	}
	switch valueOf(s.Type) {
	case "shared_fs":
		return s.Typed().SharedFS.Directory()
	case "directory":
		return valueOf(s.ContainerPath)
	case "s3":
		return bucket("s3", valueOf(s.Bucket))
	case "gcs":
		return bucket("gs", valueOf(s.Bucket))
	case "azure":
		return bucket("azure", valueOf(s.Container))
	}
	return ""
}

// StorageOf converts a storage of master.yaml, whose secrets are resolved, to a layer for Merge.
func StorageOf(c config.CheckpointStorage) Storage {
	out := func(kind string, keep config.Saved) Storage {
		return Storage{Type: &kind, SaveExperimentBest: &keep.ExperimentBest, SaveTrialBest: &keep.TrialBest, SaveTrialLatest: &keep.TrialLatest}
	}
	switch {
	case c.SharedFS != nil:
		s := out("shared_fs", c.SharedFS.Saved)
		s.HostPath, s.StoragePath, s.Propagation = &c.SharedFS.HostPath, nonEmpty(c.SharedFS.StoragePath), nonEmpty(c.SharedFS.Propagation)
		s.CheckpointPath = nonEmpty(c.SharedFS.CheckpointPath)
		return s
	case c.Directory != nil:
		s := out("directory", c.Directory.Saved)
		s.ContainerPath = &c.Directory.ContainerPath
		return s
	case c.S3 != nil:
		s := out("s3", c.S3.Saved)
		s.Bucket, s.Prefix, s.EndpointURL = &c.S3.Bucket, nonEmpty(c.S3.Prefix), nonEmpty(c.S3.EndpointURL)
		s.AccessKey, s.SecretKey = revealedSecret(c.S3.AccessKey), revealedSecret(c.S3.SecretKey)
		return s
	case c.GCS != nil:
		s := out("gcs", c.GCS.Saved)
		s.Bucket, s.Prefix = &c.GCS.Bucket, nonEmpty(c.GCS.Prefix)
		return s
	case c.Azure != nil:
		s := out("azure", c.Azure.Saved)
		s.Container, s.AccountURL = &c.Azure.Container, nonEmpty(c.Azure.AccountURL)
		s.ConnectionString, s.Credential = revealedSecret(c.Azure.ConnectionString), revealedSecret(c.Azure.Credential)
		return s
	}
	return Storage{}
}

func literalValue(s *document.Secret) secret.Value { return secret.Literal(valueOf(s).Reveal()) }

func revealedSecret(v secret.Value) *document.Secret {
	if v.IsZero() {
		return nil
	}
	s := document.NewSecret(v.Reveal())
	return &s
}

// nonEmpty returns a pointer to s, or nil if s is empty.
func nonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// DecodeStorage reads a separate storage, such as a workspace's, from JSON. The error is a
// document.Errors that lists every problem.
func DecodeStorage(data []byte) (Storage, error) {
	var s Storage
	d, err := document.Parse(data, "")
	if err != nil {
		return s, fmt.Errorf("read the checkpoint storage: %w", err)
	}
	unread := d.Decode(&s)
	whole := Experiment{CheckpointStorage: s}.Merge(Default()).completeKinds()
	return s, d.Blame(unread, whole.CheckpointStorage.validate("", true)).Err()
}

// Show returns the storage's settings that are set, without secrets.
func (s Storage) Show() map[string]any {
	out := keepKeys(document.Show(s), s.usesKey)
	maps.DeleteFunc(out, func(key string, value any) bool { return value == nil || slices.Contains(secretKeys(), key) })
	return out
}

// HasSecrets reports whether a key is set.
func (s Storage) HasSecrets() bool {
	return s.AccessKey != nil || s.SecretKey != nil || s.ConnectionString != nil || s.Credential != nil
}
