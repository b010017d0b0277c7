package config

import (
	"errors"

	"github.com/det-deploy/det-deploy/document"
	"github.com/det-deploy/det-deploy/master/config/provider"
)

var (
	_ document.KeyAdviser = (*Pool)(nil)
	_ document.KeyAdviser = (*Master)(nil)
)

// AdviseKey implements document.KeyAdviser, for what belongs to the pool's provider.
func (p *Pool) AdviseKey(key string) string { return provider.AdviseKey(key) }

// AdviseKey implements document.KeyAdviser, for what belongs to the provider of a pool.
func (m *Master) AdviseKey(key string) string {
	if provider.AdviseKey(key) == "" {
		return ""
	}
	return "belongs to the provider of a pool: write resource_pools:, a pool with a pool_name, and below it provider: above it"
}

// adviseSyntax says which keys are missing above a list that belongs to none.
func adviseSyntax(err error) error {
	all, ok := errors.AsType[document.Errors](err)
	if !ok {
		return err
	}
	for i := range all {
		if hint := provider.AdviseList(all[i].Orphan); hint != "" {
			all[i].Hint = hint
		}
	}
	return err
}
