package helm

import (
	"cmp"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/policy"
)

// Storage configures the storage of checkpoints, with the keys of all types.
type Storage struct {
	Type           string       `yaml:"type"`
	ExperimentBest *int         `yaml:"saveExperimentBest"`
	TrialBest      *int         `yaml:"saveTrialBest"`
	TrialLatest    *int         `yaml:"saveTrialLatest"`
	HostPath       string       `yaml:"hostPath"`
	ExistingClaim  string       `yaml:"existingClaim"`
	Size           Text         `yaml:"storageSize"`
	StorageClass   string       `yaml:"storageClassName"`
	AccessMode     string       `yaml:"accessMode"`
	MountToServer  document.Raw `yaml:"mountToServer"`
	Bucket         string       `yaml:"bucket"`
	Prefix         string       `yaml:"prefix"`
	EndpointURL    string       `yaml:"endpointUrl"`
	Container      string       `yaml:"container"`
	AccountURL     string       `yaml:"account_url"`
	ContainerPath  string       `yaml:"containerPath"`

	AccessKey        Text `yaml:"accessKey"`
	SecretKey        Text `yaml:"secretKey"`
	ConnectionString Text `yaml:"connection_string"`
	Credential       Text `yaml:"credential"`

	AccessKeySecret        *SecretRef `yaml:"accessKeyExistingSecret"`
	SecretKeySecret        *SecretRef `yaml:"secretKeyExistingSecret"`
	ConnectionStringSecret *SecretRef `yaml:"connectionStringExistingSecret"`
	CredentialSecret       *SecretRef `yaml:"credentialExistingSecret"`
}

// checkpoints is the default directory of shared_fs on each node, as in Determined 0.38.1.
const checkpoints = "/tmp/checkpoints"

// toMaster returns the master's configuration. made is the claim that the master creates, or "".
func (s Storage) toMaster(made string) *config.CheckpointStorage {
	saved := s.savedCounts()
	switch s.Type {
	case "s3":
		return &config.CheckpointStorage{S3: &config.S3Storage{
			Saved: saved, Bucket: s.Bucket, Prefix: s.Prefix, EndpointURL: s.EndpointURL,
			AccessKey: textOrSecret(s.AccessKey, s.AccessKeySecret, "storage-access-key"),
			SecretKey: textOrSecret(s.SecretKey, s.SecretKeySecret, "storage-secret-key"),
		}}
	case "gcs":
		return &config.CheckpointStorage{GCS: &config.GCSStorage{Saved: saved, Bucket: s.Bucket, Prefix: s.Prefix}}
	case "azure":
		return &config.CheckpointStorage{Azure: &config.AzureStorage{
			Saved: saved, Container: s.Container, AccountURL: s.AccountURL,
			ConnectionString: textOrSecret(s.ConnectionString, s.ConnectionStringSecret, "storage-connection-string"),
			Credential:       textOrSecret(s.Credential, s.CredentialSecret, "storage-credential"),
		}}
	case "directory":
		return &config.CheckpointStorage{Directory: &config.DirectoryStorage{Saved: saved, ContainerPath: s.ContainerPath}}
	case "shared_fs":
		return &config.CheckpointStorage{SharedFS: &config.SharedFSStorage{
			Saved: saved, HostPath: s.directory(made), Propagation: "rprivate",
		}}
	}
	return nil
}

// directory returns the directory of shared_fs. With a volume claim, it is a path that represents
// the claim.
func (s Storage) directory(made string) string {
	if claim := cmp.Or(s.ExistingClaim, made); claim != "" {
		return policy.ClaimDirectory(claim)
	}
	return cmp.Or(s.HostPath, checkpoints)
}

// claim returns the settings of the claim that the master creates.
func (s Storage) claim() *config.CheckpointClaim {
	var c config.CheckpointClaim
	c.SetDefaults()
	c.StorageClass = s.StorageClass
	c.Size, c.AccessMode = cmp.Or(s.Size.Reveal(), c.Size), cmp.Or(s.AccessMode, c.AccessMode)
	return &c
}

// savedCounts returns the defaults overridden by every given number, including an explicit 0.
func (s Storage) savedCounts() config.Saved {
	out := config.DefaultSaved()
	for to, from := range map[*int]*int{
		&out.ExperimentBest: s.ExperimentBest, &out.TrialBest: s.TrialBest, &out.TrialLatest: s.TrialLatest,
	} {
		if from != nil {
			*to = *from
		}
	}
	return out
}

// textOrSecret returns a value's text, or a reference to the mounted entry of a Secret.
func textOrSecret(text Text, ref *SecretRef, mounted string) secret.Value {
	if ref != nil {
		return fileSecret(given, mounted)
	}
	return secret.Literal(text.Reveal())
}
