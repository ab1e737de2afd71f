import { Controller, Get, Inject, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { Projector } from '#projections/projector.js';

export const HEALTH = Symbol('Health');

/** What the process knows of its own fitness. */
export interface Health {
  projector: Projector;
  /** False while the engine takes no writes: cut off, or stopped by an unknown outcome. */
  healthy(): boolean;
  /** Position of the last durable event. */
  end(): Promise<number>;
  /** False once a shutdown has begun. */
  serving: boolean;
}

/** Open to everyone: says nothing of what the ledger holds. */
@ApiExcludeController()
@Controller('health')
export class HealthController {
  constructor(@Inject(HEALTH) private readonly health: Health) {}

  @Get('live')
  live() {
    return { status: 'live' };
  }

  @Get('startup')
  startup() {
    return { status: 'started' };
  }

  @Get('ready')
  async ready(@Res({ passthrough: true }) reply: FastifyReply) {
    const healthy = this.health.healthy();
    const end = await this.health.end().catch(() => this.health.projector.position);
    const readModels = this.health.projector.statuses.map(({ name, position, parked }) => ({
      name,
      lag: Math.max(0, end - position),
      ...(parked ? { parked } : {}),
    }));
    const ready = healthy && this.health.serving && !readModels.some((m) => m.parked);
    if (!ready) void reply.status(503);
    return {
      status: ready ? 'ready' : 'not_ready',
      event_store: healthy ? 'writable' : 'not_writable',
      read_models: readModels,
    };
  }
}
