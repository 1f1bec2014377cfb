export function emitTypes(_stage: string, _folder: string): void {}
