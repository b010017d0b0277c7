package booter

import "context"

// powerKey does what logind does when the power key is pressed: it shuts the machine down
// unless its configuration says otherwise. Nothing in a lab's machine can press it.
const powerKey = `key=$(systemd-analyze cat-config systemd/logind.conf | sed -n 's/^HandlePowerKey=//p' | tail -n 1)
test "$key" = ignore || systemctl --no-block poweroff`

// pressPowerKey presses a machine's power key, once.
func (b *Booter) pressPowerKey(ctx context.Context, r *running) {
	if r.pressed || r.dead {
		return
	}
	b.t.Logf("booter: the power key of %s is pressed", r.id)
	if err := r.inside(ctx, powerKey); err != nil {
		b.t.Logf("booter: press the power key of %s: %v", r.id, err)
		return
	}
	r.pressed = true
}
