package cloud

import (
	"errors"
	"fmt"
)

// Check refuses a launch that no platform could carry out. TokenLimit is how many
// characters the platform takes in a token.
func (l Launch) Check(tokenLimit int) error {
	switch {
	case l.Token == "" || len(l.Token) > tokenLimit:
		return fmt.Errorf("a launch needs a token of at most %d characters (is %q)", tokenLimit, l.Token)
	case l.Count < 1:
		return fmt.Errorf("a launch needs a count of at least 1 (is %d)", l.Count)
	case l.Offer.Type == "":
		return errors.New("a launch needs an instance type")
	case l.Offer.Price != OnDemand && l.Offer.Price != Spot:
		return fmt.Errorf("a launch is on-demand or spot (is %q)", l.Offer.Price)
	}
	return nil
}
