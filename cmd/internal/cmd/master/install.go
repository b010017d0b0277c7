package master

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/unit"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/templates"
)

func newInstall(s *term.Streams) *cobra.Command {
	return unit.NewInstall(s, unit.Role{Name: "master", A: "a master", ConfigFile: config.DefaultMaster().ConfigFile, Unit: masterUnit})
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
	return unit.Unit{Name: "det-deploy-master.service", Text: text, DataDir: cfg.DataDir}, err
}
