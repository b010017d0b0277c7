package detect

import (
	"fmt"
	"strconv"
	"strings"
)

// visibleOnly returns the cards that the list selects by index, UUID or UUID prefix, in the order
// of the machine. It returns an error for an entry that matches no card, because a GPU that fell
// off the bus should not go unnoticed.
func visibleOnly(cards []card, list string) ([]card, error) {
	if strings.TrimSpace(list) == "" {
		return cards, nil
	}
	wanted := make([]bool, len(cards))
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		if item == "-1" || strings.EqualFold(item, "none") {
			return nil, nil
		}
		hit := false
		for i, c := range cards {
			if c.matchesItem(item) {
				wanted[i], hit = true, true
			}
		}
		if !hit {
			return nil, fmt.Errorf("visible_gpus: no GPU matches %q (found %d)", item, len(cards))
		}
	}
	var out []card
	for i, c := range cards {
		if wanted[i] {
			out = append(out, c.keepParts(list))
		}
	}
	return out, nil
}

// matchesItem reports whether item selects the card or one of its parts.
func (c card) matchesItem(item string) bool {
	if n, err := strconv.Atoi(item); err == nil {
		return n == c.index
	}
	if item != "" && strings.HasPrefix(c.uuid, item) {
		return true
	}
	for _, p := range c.parts {
		if item != "" && strings.HasPrefix(p.uuid, item) {
			return true
		}
	}
	return false
}

// keepParts returns the card with the selected parts, or with all of them if the list selects the
// whole card.
func (c card) keepParts(list string) card {
	whole := card{index: c.index, uuid: c.uuid}
	var kept []card
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		if whole.matchesItem(item) {
			return c
		}
		for _, p := range c.parts {
			if strings.HasPrefix(p.uuid, item) {
				kept = append(kept, p)
			}
		}
	}
	c.parts = kept
	return c
}
