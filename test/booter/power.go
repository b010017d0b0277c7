package booter

import "context"

// powerKey simulates logind's reaction to the power key: it shuts the machine down unless the
// configuration ignores the key. A machine in a lab has no device for it.
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
