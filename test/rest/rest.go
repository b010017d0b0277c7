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

// Only skips t unless the rest runs. Call it at the top of a test, because test/run.sh searches for
// it there: in packages that test another process, the rest repeats no other test.
func Only(t testing.TB) {
	t.Helper()
	if !On() {
		t.Skip("left to make test-rest; here with " + variable + "=1")
	}
}

// Choose returns ordinary, or rest if the rest runs: the stride of a fault matrix, or the size of a
// storm.
func Choose[T any](ordinary, rest T) T {
	if On() {
		return rest
	}
	return ordinary
}
