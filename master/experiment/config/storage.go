package config

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
)

// Storage is where checkpoints are kept. A user may say a part of it and leave the rest, the type
// included, to the cluster. Secrets are taken as they are: a reference is not followed, because
// the master's files are not the user's.
type Storage struct {
	Type               *string          `yaml:"type" doc:"shared_fs, directory, s3, gcs or azure"`
	SaveExperimentBest *int             `yaml:"save_experiment_best" doc:"Best checkpoints kept of the experiment"`
	SaveTrialBest      *int             `yaml:"save_trial_best" doc:"Best checkpoints kept of a trial"`
	SaveTrialLatest    *int             `yaml:"save_trial_latest" doc:"Latest checkpoints kept of a trial"`
	HostPath           *string          `yaml:"host_path" doc:"Directory of each machine"`
	StoragePath        *string          `yaml:"storage_path" doc:"Directory inside host_path"`
	Propagation        *string          `yaml:"propagation" doc:"Mount propagation"`
	ContainerPath      *string          `yaml:"container_path" doc:"Directory inside containers"`
	CheckpointPath     *string          `yaml:"checkpoint_path" doc:"Older name of storage_path"`
	TensorboardPath    *string          `yaml:"tensorboard_path" doc:"No effect"`
	Bucket             *string          `yaml:"bucket" doc:"Bucket"`
	Prefix             *string          `yaml:"prefix" doc:"Beginning of each object's name"`
	AccessKey          *document.Secret `yaml:"access_key" doc:"Access key"`
	SecretKey          *document.Secret `yaml:"secret_key" doc:"Secret key"`
	EndpointURL        *string          `yaml:"endpoint_url" doc:"Address of a server other than Amazon's"`
	Container          *string          `yaml:"container" doc:"Container of Azure"`
	ConnectionString   *document.Secret `yaml:"connection_string" doc:"Connection string of Azure"`
	AccountURL         *string          `yaml:"account_url" doc:"Account address of Azure"`
	Credential         *document.Secret `yaml:"credential" doc:"Credential for account_url"`
}

// savedKeys is the settings of every type.
func savedKeys() []string {
	return []string{"type", "save_experiment_best", "save_trial_best", "save_trial_latest"}
}

// typeKeys is the further settings of each type.
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

// withoutRivals takes out what would go with half of what upper says: a key of another pair, another
// way to name the same account or directory.
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

// InOwnDirectory is s with the checkpoints in a directory of their experiment's own; other types than
// shared_fs stay. A directory of another experiment, as in a copied configuration, is left out.
func (s Storage) InOwnDirectory(name string) Storage {
	shared := s.Typed().SharedFS
	if shared == nil {
		return s
	}
	above, _ := config.AboveOwn(shared.Inside())
	s.StoragePath, s.CheckpointPath = new(path.Join(above, name)), nil
	return s
}

// OwnDirectory names the directory of s that is its experiment's own, empty for none.
func (s Storage) OwnDirectory() string {
	if shared := s.Typed().SharedFS; shared != nil {
		_, own := config.AboveOwn(shared.Inside())
		return own
	}
	return ""
}

// Typed is the storage in the form of master.yaml, nothing for one without a type.
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

// StorageOf is a storage of master.yaml, whose references are resolved, as a part to be merged.
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

// nonEmpty is a text that says something.
func nonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// DecodeStorage reads a storage that stands by itself, such as a workspace's, as JSON. The error
// is document.Errors with every complaint.
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

// Show is what is set of a storage, without its secrets.
func (s Storage) Show() map[string]any {
	out := keepKeys(document.Show(s), s.usesKey)
	maps.DeleteFunc(out, func(key string, value any) bool { return value == nil || slices.Contains(secretKeys(), key) })
	return out
}

// HasSecrets reports whether a key is set.
func (s Storage) HasSecrets() bool {
	return s.AccessKey != nil || s.SecretKey != nil || s.ConnectionString != nil || s.Credential != nil
}
