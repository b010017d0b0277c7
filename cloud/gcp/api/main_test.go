package api_test

import (
	"os"
	"testing"

	"cloud.google.com/go/auth/credentials"
)

// Google's library checks only once per process whether it runs on Compute Engine. All tests run as
// if it did, regardless of their order.
func TestMain(m *testing.M) {
	if err := os.Setenv("GCE_METADATA_HOST", "127.0.0.1:9"); err != nil {
		panic(err)
	}
	credentials.OnGCE()
	if err := os.Unsetenv("GCE_METADATA_HOST"); err != nil {
		panic(err)
	}
	m.Run()
}
