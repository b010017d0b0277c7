package command

import (
	"context"
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
)

// ReadNumber parses an argument that is the ID of an item, such as an experiment.
func ReadNumber(noun, text string) (int32, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return 0, usage.Errorf("%[1]s must be a number as shown by `det-deploy %[2]s list` (is %[3]q)", strings.ToUpper(noun), noun, text)
	}
	return int32(n), nil
}

// ByNumber returns a fetch function for Description that parses the argument as an ID.
func ByNumber[T any](
	noun string, fetch func(*client.Client, context.Context, int32) (T, error),
) func(context.Context, *client.Client, string) (T, error) {
	return func(ctx context.Context, master *client.Client, text string) (T, error) {
		n, err := ReadNumber(noun, text)
		if err != nil {
			var none T
			return none, err
		}
		return fetch(master, ctx, n)
	}
}
