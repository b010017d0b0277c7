package machines

import "context"

// Look asks a platform in turn, until one of the questions is not answered, and last
// whether `up` generates a password for the user determined.
func Look(ctx context.Context, password func(context.Context) (bool, error), questions ...func(context.Context) error) (bool, error) {
	for _, ask := range questions {
		if err := ask(ctx); err != nil {
			return false, err
		}
	}
	return password(ctx)
}
