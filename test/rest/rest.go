// Package rest marks the tests that `make test` leaves to `make test-rest`: storms,
// dense fault matrices, real Kubernetes nodes, booted machines, and the second of two
// databases or clouds. Only tests may import it.
package rest

import (
	"os"
	"testing"
)

// variable is the environment variable that `make test-rest` sets.
const variable = "DET_TEST_REST"

// On reports whether the rest runs.
func On() bool { return os.Getenv(variable) != "" }

// Only skips t unless the rest runs. The call belongs at the top of a test, because
// test/run.sh looks for it there: of packages whose subject is another process it
// repeats no other test with the rest.
func Only(t testing.TB) {
	t.Helper()
	if !On() {
		t.Skip("left to make test-rest; here with " + variable + "=1")
	}
}

// Choose returns the value for the ordinary run, or the one for the rest: the stride
// of a fault matrix, the size of a storm.
func Choose[T any](ordinary, rest T) T {
	if On() {
		return rest
	}
	return ordinary
}
