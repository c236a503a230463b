---@key lock hash
---@include script.lua
---@include library.lua
---@include missing.lua
---@include again.lua
---@arg helper string
return redis.call('get', lock, helper, other())
