package wire

import (
	"context"
	"fmt"

	"github.com/det-deploy/det-deploy/master/auth"
	"github.com/det-deploy/det-deploy/master/config"
)

// firstPasswords are those of admin and determined in a new database.
func firstPasswords(ctx context.Context, s config.Security) (admin, determined auth.Password, err error) {
	user, err := resolver().Resolve(ctx, s.InitialUserPassword)
	if err != nil {
		return "", "", fmt.Errorf("security.initial_user_password: %w", err)
	}
	own, err := resolver().Resolve(ctx, s.DeterminedPassword)
	if err != nil {
		return "", "", fmt.Errorf("security.initial_determined_password: %w", err)
	}
	return auth.Password(user.Reveal()), auth.Password(own.Reveal()), nil
}
