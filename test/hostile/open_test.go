package hostile_test

// open lists the attempts that succeed today, with the planned fix. An attempt that is rejected
// must be removed.
var open = map[string]string{}
