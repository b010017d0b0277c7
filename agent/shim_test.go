package agent

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/det-deploy/det-deploy/agent/container/process/shim"
)

// shimCommand makes this test program what starts an agent's tasks.
const shimCommand = "shim"

func beShim(socket string) int {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := shim.Serve(shim.Config{Socket: os.NewFile(shim.SocketFD, "socket"), Path: socket, Log: log}); err != nil {
		log.Error("shim ended", "err", err)
		return 1
	}
	return 0
}

// killShims kills what starts the tasks of agents below a directory.
func killShims(dir string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is good
	for _, f := range files {
		line, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(line, []byte("\x00"+shimCommand+"\x00--socket\x00"+dir+"/")) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f))) // it is a number
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
