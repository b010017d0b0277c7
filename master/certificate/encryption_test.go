package certificate

import (
	"errors"
	"testing"

	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/security"
)

func TestCheckEncryption(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change  func(*config.Master)
		refused bool
	}{
		"every address":        {func(*config.Master) {}, true},
		"explicitly off":       {func(m *config.Master) { m.Security.TLS.Mode = security.TLSOff }, true},
		"unspecified address":  {func(m *config.Master) { m.BindIP = "0.0.0.0" }, true},
		"an address of a LAN":  {func(m *config.Master) { m.BindIP = "10.0.0.1" }, true},
		"loopback":             {func(m *config.Master) { m.BindIP = "127.0.0.1" }, false},
		"loopback of IPv6":     {func(m *config.Master) { m.BindIP = "::1" }, false},
		"its own authority":    {func(m *config.Master) { m.Security.TLS.Mode = security.TLSAuto }, false},
		"a certificate":        {func(m *config.Master) { m.Security.TLS = security.TLS{Cert: "c", Key: "k"} }, false},
		"allowed on a network": {func(m *config.Master) { m.Security.AllowPlainHTTP = true }, false},
	} {
		m := config.DefaultMaster()
		tt.change(&m)
		err := CheckEncryption(m)
		if _, refused := errors.AsType[*plainHTTPError](err); refused != tt.refused {
			t.Errorf("%s: got %v, want an error: %t", name, err, tt.refused)
		}
	}
}
