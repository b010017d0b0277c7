package cloud

import (
	"errors"
	"fmt"
)

// Check returns an error if the launch is invalid on every platform. TokenLimit is the platform's
// maximum number of characters in a token.
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
