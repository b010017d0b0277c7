package wire

import (
	"fmt"
	"os"
	"runtime"

	"github.com/google/uuid"

	"github.com/det-deploy/det-deploy/cmd/internal/build"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/server"
)

// openBinaries opens the programs that a master hands out, its own among them.
func openBinaries(cfg config.Master) (*server.Binaries, error) {
	self, err := ownProgram()
	if err != nil {
		return nil, err
	}
	return server.OpenBinaries(cfg.Binaries, self)
}

// ownProgram is where the program of this process is. On Linux that is a path that
// still leads to it when another file has taken its place.
func ownProgram() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	return self, nil
}

// identity is what this master says of itself to anybody. Clusters have an id in
// their store; a master on hold does not say it.
func identity(cfg config.Master, b *server.Binaries, cluster string) server.Identity {
	return server.Identity{
		ClusterID: cluster, ClusterName: cfg.ClusterName, MasterID: uuid.NewString(),
		Version: build.Read().Version, Program: b.Hashes()[runtime.GOOS+"-"+runtime.GOARCH],
	}
}
