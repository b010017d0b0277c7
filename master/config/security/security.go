// Package security defines the security settings of master.yaml: users, TLS, permissions, and
// resource limits.
package security

import (
	"time"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/api/password"
)

// Settings holds users, TLS and authorization.
type Settings struct {
	DefaultTask         AgentUser    `yaml:"default_task" doc:"Unix user of tasks whose owner has no linked one"`
	TrustUsers          bool         `yaml:"trust_users" doc:"Allow every user to submit tasks; otherwise only administrators may, for machines on which tasks are not isolated"`
	TLS                 TLS          `yaml:"tls" doc:"auto, off, or a certificate"`
	SSH                 SSH          `yaml:"ssh" doc:"Keys generated for shells and multi-machine tasks"`
	AuthZ               AuthZ        `yaml:"authz" doc:"Authorization"`
	Token               Token        `yaml:"token" doc:"Access tokens"`
	InitialUserPassword secret.Value `yaml:"initial_user_password" doc:"Password of admin in a new database, and of determined unless that is set"`
	DeterminedPassword  secret.Value `yaml:"initial_determined_password" doc:"Password of determined in a new database"`
	AllowBlankPassword  bool         `yaml:"allow_blank_password" doc:"Start a new database without initial_user_password"`
	AllowPlainHTTP      bool         `yaml:"allow_plain_http" doc:"Listen on other addresses than loopback without TLS. Passwords and tokens are readable on the network, unless a proxy in front of the master uses TLS"`
	Visibility          Visibility   `yaml:"visibility" doc:"Logs that users may read: open, all; private, only their own. Administrators may read all. Configurations, environments and files of a task are always restricted to its owner and administrators"`
	Audit               AuditLog     `yaml:"audit" doc:"Retention of the audit log, see det-deploy audit"`
	Proxies             Proxies      `yaml:"proxies" doc:"Load balancers and proxies in front of the master"`
	Limits              Limits       `yaml:"limits" doc:"Resource limits of anonymous clients and users"`
}

// Default returns the default settings.
func Default() Settings {
	return Settings{
		DefaultTask: AgentUser{User: "root", Group: "root"},
		TrustUsers:  true,
		SSH:         SSH{KeyType: "ED25519"},
		AuthZ: AuthZ{
			Type: "basic", Fallback: "basic",
			CreatorRole: CreatorRole{Enabled: true, RoleID: 2},
		},
		Token:      Token{MaxDays: 30, DefaultDays: 30},
		Visibility: VisibilityOpen,
		Audit:      AuditLog{Days: 365},
		Limits:     DefaultLimits(),
	}
}

// AuditLog configures the retention of the audit log.
type AuditLog struct {
	Days int `yaml:"retention_days" doc:"Days to keep the audit log; -1: keep forever"`
}

// SetDefaults sets a retention of one year.
func (a *AuditLog) SetDefaults() { *a = AuditLog{Days: 365} }

// maxAuditDays is a hundred years.
const maxAuditDays = 36_500

// Keep returns the retention of entries; 0 means forever.
func (a AuditLog) Keep() time.Duration {
	if a.Days < 0 {
		return 0
	}
	return time.Duration(a.Days) * 24 * time.Hour
}

// Visibility selects whose logs users may see.
type Visibility string

// The values of Visibility.
const (
	VisibilityOpen    Visibility = "open"
	VisibilityPrivate Visibility = "private"
)

// AgentUser is a Unix user on agents.
type AgentUser struct {
	User  string `yaml:"user" doc:"User name"`
	UID   int    `yaml:"uid" doc:"User number"`
	Group string `yaml:"group" doc:"Group name"`
	GID   int    `yaml:"gid" doc:"Group number"`
}

// SSH configures the type of generated keys.
type SSH struct {
	KeyType    string `yaml:"key_type" doc:"ED25519, ECDSA or RSA"`
	RSAKeySize int    `yaml:"rsa_key_size" doc:"Bits of an RSA key, 1 to 16384"`
}

// AuthZ configures authorization.
type AuthZ struct {
	Type             string      `yaml:"type" doc:"basic; rbac is not built yet"`
	Fallback         string      `yaml:"fallback" doc:"basic"`
	RBACUIEnabled    *bool       `yaml:"rbac_ui_enabled" doc:"Show role assignment in the web UI"`
	CreatorRole      CreatorRole `yaml:"workspace_creator_assign_role" doc:"Role of a workspace's creator, with rbac"`
	StrictJobControl bool        `yaml:"strict_job_queue_control" doc:"Only administrators may reorder the queue"`
}

// CreatorRole is the role that the creator of a workspace gets in it.
type CreatorRole struct {
	Enabled bool `yaml:"enabled" doc:"Assign a role"`
	RoleID  int  `yaml:"role_id" doc:"Which role"`
}

// Token configures the lifetime of access tokens.
type Token struct {
	MaxDays     int `yaml:"max_lifespan_days" doc:"Maximum lifetime of an access token in days; -1 for no limit"`
	DefaultDays int `yaml:"default_lifespan_days" doc:"Default lifetime of an access token in days; -1 for no limit"`
}

// Validate checks all settings below path.
func (s Settings) Validate(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	e = append(e, s.DefaultTask.Validate(at("default_task"))...)
	e = append(e, s.TLS.Validate(at("tls"))...)
	e = append(e, document.OneOf(at("ssh.key_type"), s.SSH.KeyType, []string{"ED25519", "ECDSA", "RSA"})...)
	if s.SSH.KeyType == "RSA" {
		e.Check(s.SSH.RSAKeySize >= 1 && s.SSH.RSAKeySize <= 16384, at("ssh.rsa_key_size"),
			"must be between 1 and 16384 with key_type RSA (is %d)", s.SSH.RSAKeySize)
	}
	e = append(e, document.OneOf(at("authz.type"), s.AuthZ.Type, []string{"basic", "rbac"})...)
	e = append(e, document.OneOf(at("authz.fallback"), s.AuthZ.Fallback, []string{"basic", "rbac"})...)
	e = append(e, s.Token.Validate(at("token"))...)
	e.Check(s.Audit.Days == -1 || (s.Audit.Days > 0 && s.Audit.Days <= maxAuditDays), at("audit.retention_days"),
		"must be between 1 and %d, or -1 for ever (is %d)", maxAuditDays, s.Audit.Days)
	e = append(e, document.OneOf(at("visibility"), string(s.Visibility), []string{string(VisibilityOpen), string(VisibilityPrivate)})...)
	e = append(e, s.Proxies.Validate(at("proxies"))...)
	e = append(e, s.Limits.Validate(at("limits"))...)
	e = append(e, firstPassword(at("initial_user_password"), s.InitialUserPassword)...)
	return append(e, firstPassword(at("initial_determined_password"), s.DeterminedPassword)...)
}

// firstPassword applies the password rule to a password in plain text; the value of a reference is
// checked later.
func firstPassword(path string, v secret.Value) document.Errors {
	var e document.Errors
	p := v.Reveal()
	e.Check(p == "" || password.Strong(p), path, password.Rule)
	return e
}

// Validate checks the numbers.
func (u AgentUser) Validate(path string) document.Errors {
	var e document.Errors
	e.Check(u.User != "", document.Join(path, "user"), "is required")
	e.Check(u.Group != "", document.Join(path, "group"), "is required")
	e.Check(u.UID >= 0, document.Join(path, "uid"), "must be at least 0 (is %d)", u.UID)
	e.Check(u.GID >= 0, document.Join(path, "gid"), "must be at least 0 (is %d)", u.GID)
	return e
}

// Validate checks that the default is within the limit.
func (t Token) Validate(path string) document.Errors {
	var e document.Errors
	maxDays, def := t.MaxDays, t.DefaultDays
	e.Check(maxDays == -1 || maxDays > 0, document.Join(path, "max_lifespan_days"), "must be more than 0, or -1 for no limit (is %d)", maxDays)
	e.Check(def == -1 || def > 0, document.Join(path, "default_lifespan_days"), "must be more than 0, or -1 for no limit (is %d)", def)
	if maxDays > 0 {
		e.Check(def <= maxDays && def != -1, document.Join(path, "default_lifespan_days"), "must be at most max_lifespan_days (%d > %d)", def, maxDays)
	}
	return e
}
