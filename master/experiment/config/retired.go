package config

// retiredMethods maps the removed methods to the advice for their users.
func retiredMethods() map[string]string {
	return map[string]string{
		"custom":          "use adaptive_asha, or single with a program that performs the search",
		"sync_halving":    "use async_halving",
		"adaptive":        "use adaptive_asha",
		"adaptive_simple": "use adaptive_asha",
		"pbt":             "use adaptive_asha",
	}
}

// retiredKeys maps the keys that earlier releases of Determined had to the advice for their users.
func retiredKeys() map[string]string {
	return map[string]string{
		"batches_per_step":            "it was removed; scheduling_unit replaced it",
		"searcher.max_steps":          "it was removed; the program decides how long it trains, and searches that stop trials have time_metric and max_time",
		"searcher.target_trial_steps": "it was removed; time_metric and max_time replaced it",
		"searcher.step_budget":        "it was removed; max_trials replaced it",
		"searcher.population_size":    "it was removed with the method pbt; use adaptive_asha",
		"searcher.num_rounds":         "it was removed with the method pbt; use adaptive_asha",
		"searcher.steps_per_round":    "it was removed with the method pbt; use adaptive_asha",
		"searcher.length_per_round":   "it was removed with the method pbt; use adaptive_asha",
		"searcher.replace_function":   "it was removed with the method pbt; use adaptive_asha",
		"searcher.explore_function":   "it was removed with the method pbt; use adaptive_asha",
	}
}

// AdviseKey implements document.KeyAdviser for keys of earlier releases.
func (*Experiment) AdviseKey(key string) string { return retiredKeys()[key] }

// AdviseKey implements document.KeyAdviser for keys of earlier releases.
func (*Searcher) AdviseKey(key string) string { return retiredKeys()["searcher."+key] }
