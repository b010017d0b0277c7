package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// sortByNeeds sorts rs so that each resource follows those it needs, with ties broken by ID. It
// returns all duplicate IDs and missing needs as one error, and otherwise an error for a cycle.
func sortByNeeds(rs []resource.Resource) ([]resource.Resource, error) {
	byID, err := indexByID(rs)
	if err != nil {
		return nil, err
	}
	s := sorter{byID: byID, state: make(map[string]mark, len(rs))}
	for _, id := range sortedKeys(byID) {
		if err := s.visitNeeds(id, nil); err != nil {
			return nil, err
		}
	}
	return s.out, nil
}

func indexByID(rs []resource.Resource) (map[string]resource.Resource, error) {
	byID := make(map[string]resource.Resource, len(rs))
	var errs []error
	for _, r := range rs {
		if byID[r.ID()] != nil {
			errs = append(errs, fmt.Errorf("plan %s: wanted twice", r.ID()))
		}
		byID[r.ID()] = r
	}
	for _, id := range sortedKeys(byID) {
		for _, need := range byID[id].Needs() {
			if byID[need] == nil {
				errs = append(errs, fmt.Errorf("plan %s: needs %s, which is not wanted", id, need))
			}
		}
	}
	return byID, errors.Join(errs...)
}

type mark int

const (
	unseen mark = iota
	onPath
	placed
)

type sorter struct {
	byID  map[string]resource.Resource
	state map[string]mark
	out   []resource.Resource
}

func (s *sorter) visitNeeds(id string, path []string) error {
	path = append(path, id)
	switch s.state[id] {
	case placed:
		return nil
	case onPath:
		return fmt.Errorf("plan %s: needs itself: %s", id, strings.Join(path[slices.Index(path, id):], " → "))
	case unseen:
	}
	s.state[id] = onPath
	needs := slices.Sorted(slices.Values(s.byID[id].Needs()))
	for _, need := range needs {
		if err := s.visitNeeds(need, path); err != nil {
			return err
		}
	}
	s.state[id] = placed
	s.out = append(s.out, s.byID[id])
	return nil
}
