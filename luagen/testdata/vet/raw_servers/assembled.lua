--- @include "includes/addJob"
return addJob(KEYS[1], ARGV[1])
