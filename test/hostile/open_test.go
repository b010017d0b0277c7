package hostile_test

// open are the attempts that succeed today, and what mends them. An attempt that is
// refused must be taken off.
var open = map[string]string{}
