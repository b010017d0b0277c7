package config

import (
	"slices"
	"strconv"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/internal/document"
)

// The types of databases.
const (
	DBEmbedded = "embedded"
	DBPostgres = "postgres"
)

// DB configures the master's database.
type DB struct {
	Type        string       `yaml:"type" doc:"embedded (a file in data_dir) or postgres; postgres when host or url is set"`
	URL         secret.Value `yaml:"url" doc:"PostgreSQL connection URL, instead of the settings below"`
	User        string       `yaml:"user" doc:"PostgreSQL user"`
	Password    secret.Value `yaml:"password" doc:"PostgreSQL password"`
	Host        string       `yaml:"host" doc:"PostgreSQL host"`
	Port        DBPort       `yaml:"port" doc:"PostgreSQL port"`
	Name        string       `yaml:"name" doc:"PostgreSQL database"`
	SSLMode     string       `yaml:"ssl_mode" doc:"disable, allow, prefer, require, verify-ca or verify-full; prefer uses TLS if the server supports it"`
	SSLRootCert string       `yaml:"ssl_root_cert" doc:"CA file for the database's certificate"`
}

// DefaultDB returns the settings of the embedded database. For a server, TLS is used if available.
func DefaultDB() DB { return DB{SSLMode: "prefer"} }

// Kind returns the type of the database, with its default.
func (d DB) Kind() string {
	switch {
	case d.Type != "":
		return d.Type
	case d.Host != "" || !d.URL.IsZero():
		return DBPostgres
	default:
		return DBEmbedded
	}
}

// Validate checks that the settings belong to one type of database.
func (d DB) Validate(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	if d.Type != "" {
		e = append(e, document.OneOf(at("type"), d.Type, []string{DBEmbedded, DBPostgres})...)
	}
	e = append(e, document.OneOf(at("ssl_mode"), d.SSLMode, sslModes())...)
	parts := d.Host != "" || d.User != "" || d.Name != "" || d.Port != "" || !d.Password.IsZero()
	switch {
	case !d.URL.IsZero() && parts:
		e.Add(at("url"), "excludes user, password, host, port and name; keep one form")
	case d.Kind() == DBPostgres && d.URL.IsZero():
		e.Check(d.Host != "", at("host"), "is required with type postgres, or give url")
		e.Check(d.Name != "", at("name"), "is required with type postgres")
		e.Check(d.User != "", at("user"), "is required with type postgres")
	case d.Kind() == DBEmbedded && (parts || !d.URL.IsZero()):
		e.Add(path, "has settings of a PostgreSQL server but no host; set db.host, or remove them for the embedded database")
	}
	unverified := slices.Contains([]string{"disable", "allow", "prefer"}, d.SSLMode)
	e.Check(d.SSLRootCert == "" || !unverified, at("ssl_root_cert"), "has no effect with ssl_mode %s; set ssl_mode to verify-full", d.SSLMode)
	if d.Port != "" {
		_, ok := d.Port.Number()
		e.Check(ok, at("port"), "must be between 1 and 65535 (is %q)", string(d.Port))
	}
	return e
}

// DBPort is a port, which older files write as text.
type DBPort string

// UnmarshalDocument reads a number or text.
func (p *DBPort) UnmarshalDocument(v document.Value) {
	if !v.IsText() {
		v.Complain("must be a port number", "")
		return
	}
	*p = DBPort(v.Text())
}

// Number returns the port. ok is false if it is not a valid port number.
func (p DBPort) Number() (port int, ok bool) {
	n, err := strconv.Atoi(string(p))
	return n, err == nil && n > 0 && n <= 65535
}

// DocumentShape implements document.Shaper.
func (DBPort) DocumentShape() string { return "port" }

// sslModes returns the TLS modes of a connection to PostgreSQL.
func sslModes() []string {
	return []string{"disable", "allow", "prefer", "require", "verify-ca", "verify-full"}
}
