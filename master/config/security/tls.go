package security

import "github.com/det-deploy/det-deploy/internal/document"

// TLS configures the master's encryption: "auto" (its own CA, created at the first start), "off",
// or a certificate with its key. The default is off.
type TLS struct {
	Mode string
	// Cert and Key are files or references to secrets. Cert contains the full chain.
	Cert string
	Key  string
}

// The modes of TLS.
const (
	TLSOff  = "off"
	TLSAuto = "auto"
)

// Enabled reports whether the master uses TLS.
func (t TLS) Enabled() bool { return t.Mode == TLSAuto || t.Cert != "" }

// certFiles is the mapping form.
type certFiles struct {
	Cert string `yaml:"cert" doc:"File with the certificate and its full chain, or a reference to it"`
	Key  string `yaml:"key" doc:"File with the private key, or a reference to it"`
}

// UnmarshalDocument reads a mode or a mapping.
func (t *TLS) UnmarshalDocument(v document.Value) {
	if v.IsBool() && !mustTrue(v) { // YAML 1.1 parses off as false
		*t = TLS{Mode: TLSOff}
		return
	}
	if v.IsText() {
		var mode string
		if v.Decode(&mode) {
			*t = TLS{Mode: mode}
		}
		return
	}
	f := certFiles{Cert: t.Cert, Key: t.Key}
	if v.Decode(&f) {
		*t = TLS{Cert: f.Cert, Key: f.Key}
	}
}

func mustTrue(v document.Value) bool {
	var b bool
	v.Decode(&b)
	return b
}

// MarshalDocument returns the form that was read.
func (t TLS) MarshalDocument() any {
	if t.Mode != "" {
		return t.Mode
	}
	return certFiles{Cert: t.Cert, Key: t.Key}
}

// DocumentShape implements document.Shaper.
func (TLS) DocumentShape() string { return "auto, off, or {cert, key}" }

// Validate checks that a certificate has its key.
func (t TLS) Validate(path string) document.Errors {
	var e document.Errors
	if t.Mode != "" {
		return document.OneOf(path, t.Mode, []string{TLSAuto, TLSOff})
	}
	e.Check(t.Cert == "" || t.Key != "", document.Join(path, "key"), "is required when cert is set")
	e.Check(t.Key == "" || t.Cert != "", document.Join(path, "cert"), "is required when key is set")
	return e
}
