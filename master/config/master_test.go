package config_test

import (
	"testing"

	"github.com/det-deploy/det-deploy/master/config"
)

func TestCheckOrigins(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"https://portal.example.com": true, "http://localhost:3000": true, "https://[::1]:8443": true,
		"null": false, "*": false, "https://*": false, "https://a.example/": false, "https://a.example/x": false,
		"portal.example.com": false, "ftp://a.example": false, "https://u@a.example": false, "https://": false, "": false,
		"HTTPS://a.example": false,
	} {
		if got := len(config.CheckOrigins("cors_origins", []string{text})) == 0; got != want {
			t.Errorf("%q: got %t, want %t", text, got, want)
		}
	}
}
