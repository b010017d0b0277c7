package hostile_test

import (
	"os"
	"testing"

	"github.com/det-deploy/det-deploy/test/clustertest"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Tests{M: m}.Run()) } //nolint:forbidigo // it is the main of the tests
