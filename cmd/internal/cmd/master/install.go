package master

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/unit"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/templates"
)

func newInstall(s *term.Streams) *cobra.Command { return unit.NewInstall(s, masterRole()) }

func newUninstall(s *term.Streams) *cobra.Command { return unit.NewUninstall(s, masterRole()) }

func masterRole() unit.Role {
	return unit.Role{Name: "master", A: "a master", ConfigFile: config.DefaultMaster().ConfigFile, Unit: masterUnit}
}

func masterUnit(file string, check bool) (unit.Unit, error) {
	cfg := config.DefaultMaster()
	if check {
		var err error
		if cfg, _, err = config.Load([]string{file}, nil); err != nil {
			return unit.Unit{}, err
		}
	}
	text, err := templates.MasterUnit{Binary: unit.Binary, ConfigFile: file, DataDir: cfg.DataDir}.Render()
	return unit.Unit{
		Name: masterService, Text: text, DataDir: cfg.DataDir, Links: configLinks(file),
		Files: map[string][]byte{"/usr/local/determined/Makefile": []byte(makefile)},
	}, err
}

const masterService = "det-deploy-master.service"

// makefile has the targets with which the machine images of older releases are operated.
const makefile = `# Written by det-deploy master install.
.PHONY: enable-master disable-master master-logs

# Starts the master with its current configuration, now and at every boot.
enable-master:
	systemctl enable ` + masterService + `
	systemctl restart ` + masterService + `

disable-master:
	systemctl disable --now ` + masterService + `

master-logs:
	journalctl --unit ` + masterService + `
`

// configLinks returns the link that makes a configuration file of a default location visible in that of
// older releases, or the reverse.
func configLinks(file string) map[string]string {
	current, older := config.Paths()[0], config.Paths()[1]
	switch file {
	case current:
		return map[string]string{older: current}
	case older:
		return map[string]string{current: older}
	}
	return nil
}
