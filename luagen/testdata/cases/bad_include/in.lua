---@key lock any
---@include script.lua
---@include library.lua
---@include missing.lua
---@include again.lua
---@arg helper string
return redis.call('rpush', lock, helper, other())
