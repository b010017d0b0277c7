package helm

import (
	"cmp"
	"strconv"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
)

// DB configures the master's database.
type DB struct {
	Type             string     `yaml:"type"`
	HostAddress      string     `yaml:"hostAddress"`
	Name             string     `yaml:"name"`
	User             string     `yaml:"user"`
	Port             int        `yaml:"port"`
	Password         Text       `yaml:"password"`
	PasswordSecret   *SecretRef `yaml:"passwordExistingSecret"`
	SSLMode          string     `yaml:"sslMode"`
	SSLRootCert      string     `yaml:"sslRootCert"`
	ResourceType     string     `yaml:"resourceType"`
	CertResourceName string     `yaml:"certResourceName"`

	DBObjects `yaml:",inline"`
}

// DBObjects are the settings of a database that only affect Kubernetes objects.
type DBObjects struct {
	StorageSize           document.Raw `yaml:"storageSize"`
	StorageClassName      document.Raw `yaml:"storageClassName"`
	ExistingClaim         document.Raw `yaml:"existingClaim"`
	KeepOnUninstall       document.Raw `yaml:"keepOnUninstall"`
	DisablePVC            document.Raw `yaml:"disablePVC"`
	ClaimSuffix           document.Raw `yaml:"claimSuffix"`
	SnapshotSuffix        document.Raw `yaml:"snapshotSuffix"`
	SnapshotClassName     document.Raw `yaml:"snapshotClassName"`
	RestoreSnapshotSuffix document.Raw `yaml:"restoreSnapshotSuffix"`
	CPURequest            document.Raw `yaml:"cpuRequest"`
	MemRequest            document.Raw `yaml:"memRequest"`
	CPULimit              document.Raw `yaml:"cpuLimit"`
	MemLimit              document.Raw `yaml:"memLimit"`
	RunAsUser             document.Raw `yaml:"runAsUser"`
	UseNodePort           document.Raw `yaml:"useNodePortForDB"`
	NodeSelector          document.Raw `yaml:"nodeSelector"`
	Tolerations           document.Raw `yaml:"tolerations"`
	Affinity              document.Raw `yaml:"affinity"`
}

func (d DB) toMaster(release string) config.DB {
	if d.Type == config.DBEmbedded {
		return config.DB{Type: config.DBEmbedded, SSLMode: config.DefaultDB().SSLMode}
	}
	out := config.DB{
		Type: config.DBPostgres, Host: d.HostAddress, User: d.User, Name: d.Name,
		Port: config.DBPort(strconv.Itoa(d.Port)), SSLMode: cmp.Or(d.SSLMode, config.DefaultDB().SSLMode),
	}
	switch {
	case d.PasswordSecret != nil:
		out.Password = fileSecret(given, "db-password")
	case !d.Password.IsZero():
		out.Password = secret.Literal(d.Password.Reveal())
	case d.HostAddress == "":
		out.Password = fileSecret(made, "db-password")
	}
	if d.HostAddress == "" {
		out.Host = "determined-db-service-" + release
	}
	if d.SSLRootCert != "" {
		out.SSLRootCert = dbCA + "/" + d.SSLRootCert
	}
	return out
}
