package api_test

import (
	"os"
	"testing"

	"cloud.google.com/go/auth/credentials"
)

// Whether this is a machine of Google's is asked once in the life of a process. The tests
// run as on one, in whatever order they come.
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
